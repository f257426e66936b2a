package objects

import (
	"strconv"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// goesBack holds for an update that sets spec back to a shape which status records and VMs of the group still have, without adding VMs. An undo is never
// refused, whatever policies were created meanwhile: see package webhook. Status comes from the member. Users who can write it can also remove the
// policies. The hub uses its own records, and clones nothing that is refused.
//
// Status records at most [v1alpha1.MaxRevisions] shapes. If that many are recorded and a VM has another one, spec possibly goes back to that shape. The
// member cannot check this, so the update passes and the hub decides.
var goesBack = strings.NewReplacer("STANDS", stands, "MOST", strconv.Itoa(v1alpha1.MaxRevisions)).Replace(`!variables.scale && !variables.grows && (variables.revisions.exists(r,
  r.?cpu.orValue(0) == variables.cpu && r.?coresPerSocket.orValue(0) == object.spec.?coresPerSocket.orValue(0) && r.?memory.orValue(0) == variables.memory && r.?template.orValue('') == variables.template &&
  r.?disks.?root.?sizeGiB.orValue(0) == variables.disk &&
  r.?disks.?data.orValue([]).size() == variables.data.size() &&
  r.?disks.?data.orValue([]).all(d, variables.data.exists(e, e.name == d.name && e.sizeGiB == d.sizeGiB && e.?provisioning.orValue('') == d.?provisioning.orValue(''))) &&
  r.?placement.?resourcePool.orValue('') == object.spec.?placement.?resourcePool.orValue('') &&
  r.?placement.?datastore.orValue('') == object.spec.?placement.?datastore.orValue('') &&
  r.?placement.?network.orValue('') == object.spec.?placement.?network.orValue('') &&
  r.?cloneMode.orValue('Full') == object.spec.?cloneMode.orValue('Full') &&
  r.?userDataSecretRef.?name.orValue('') == object.spec.?userDataSecretRef.?name.orValue('') &&
  r.?replaceTrigger.orValue('') == object.spec.?updateStrategy.?replaceTrigger.orValue('') &&
  oldObject.?status.?vms.orValue([]).exists(v, v.?revision.orValue('') == r.revision && STANDS)) ||
  variables.revisions.size() >= MOST && oldObject.?status.?vms.orValue([]).exists(v,
    v.?revision.orValue('') != '' && STANDS && !variables.revisions.exists(r, r.revision == v.revision)))`)

// stands holds for a VM v of status that exists and is not about to be removed.
const stands = `has(v.moRef) && !(v.?phase.orValue('') in ['Deleting', 'Lost'])`
