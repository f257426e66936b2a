package objects

import (
	"strconv"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// goesBack holds for an update that sets spec back to a shape which status has on record and VMs of the group still have, with no more of them. An undo
// is never refused, whatever came meanwhile: see the package webhook. Status is what the member says. Who may write it may as well take the policies
// away; and the hub, which goes by its own records, clones nothing that is refused.
//
// Status records no more than [v1alpha1.MaxRevisions] shapes. If that many are recorded and a VM has another one, nothing in the member can tell whether
// spec goes back to it, so the update passes and the hub decides.
var goesBack = strings.NewReplacer("STANDS", stands, "MOST", strconv.Itoa(v1alpha1.MaxRevisions)).Replace(`!variables.scale && !variables.grows && (variables.revisions.exists(r,
  r.?cpu.orValue(0) == variables.cpu && r.?memory.orValue(0) == variables.memory && r.?template.orValue('') == variables.template &&
  r.?placement.?resourcePool.orValue('') == object.spec.?placement.?resourcePool.orValue('') &&
  r.?placement.?datastore.orValue('') == object.spec.?placement.?datastore.orValue('') &&
  r.?placement.?network.orValue('') == object.spec.?placement.?network.orValue('') &&
  r.?cloneMode.orValue('Full') == object.spec.?cloneMode.orValue('Full') &&
  r.?userDataSecretRef.?name.orValue('') == object.spec.?userDataSecretRef.?name.orValue('') &&
  r.?replaceTrigger.orValue('') == object.spec.?updateStrategy.?replaceTrigger.orValue('') &&
  oldObject.?status.?vms.orValue([]).exists(v, v.?revision.orValue('') == r.revision && STANDS)) ||
  variables.revisions.size() >= MOST && oldObject.?status.?vms.orValue([]).exists(v,
    v.?revision.orValue('') != '' && STANDS && !variables.revisions.exists(r, r.revision == v.revision)))`)

// stands holds for a VM v of status that exists and is not about to leave.
const stands = `has(v.moRef) && !(v.?phase.orValue('') in ['Deleting', 'Lost'])`
