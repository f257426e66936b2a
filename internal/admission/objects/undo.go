package objects

// goesBack holds for an update that sets spec back to a shape which status has on record and VMs of the group still have, with no more of them. An undo
// is never refused, whatever came meanwhile: see the package webhook. Status is what the member says. Who may write it may as well take the policies
// away; and the hub, which goes by its own records, clones nothing that is refused.
const goesBack = `!variables.scale && !variables.grows && oldObject.?status.?revisions.orValue([]).exists(r,
  r.?cpu.orValue(0) == variables.cpu && r.?memory.orValue(0) == variables.memory && r.?template.orValue('') == variables.template &&
  r.?placement.?resourcePool.orValue('') == object.spec.?placement.?resourcePool.orValue('') &&
  r.?placement.?datastore.orValue('') == object.spec.?placement.?datastore.orValue('') &&
  r.?placement.?network.orValue('') == object.spec.?placement.?network.orValue('') &&
  r.?cloneMode.orValue('Full') == object.spec.?cloneMode.orValue('Full') &&
  r.?userDataSecretRef.?name.orValue('') == object.spec.?userDataSecretRef.?name.orValue('') &&
  r.?replaceTrigger.orValue('') == object.spec.?updateStrategy.?replaceTrigger.orValue('') &&
  oldObject.?status.?vms.orValue([]).exists(v, v.?revision.orValue('') == r.revision && has(v.moRef) && !(v.?phase.orValue('') in ['Deleting', 'Lost'])))`
