//go:build unix

package tenancy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestVMsThatStatusNamesAreTouchedByTheirOwnerAlone: the attacker's administrator writes the victim's VMs into the
// status of a group, as its own and then as ones that are being deleted.
func TestVMsThatStatusNamesAreTouchedByTheirOwnerAlone(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "vms")
	a := newAttacker(t, w, "claimant", g.namespace).joined()
	defer a.toldNothingOf(g, g.name)
	group := fresh("own")
	a.apply(group, 2, true)
	a.until("it to be seen", group, func(*v1alpha1.VmGroup) bool { return true })
	a.forge(group, forgedVMs(group, g))
	a.patch(group, `{"spec":{"paused":false}}`)
	a.untilRunning("with forged VMs", group, 2)
	g.untouched("while its VMs are named by a group")
	a.untilTold("ForeignRecord", g.namespace+"/"+group, g.name+"-", "the stamp of another group")

	a.forge(group, forgedVMs(group, g))
	a.scale(group, 0)
	a.untilRunning("scaled down", group, 0)
	g.untouched("while the group is scaled down")

	forged := forgedVMs(group, g)
	forged["deleting"] = []int{0, 1}
	a.forge(group, forged)
	a.delete(group)
	a.untilGone(group)
	g.served("after the group is deleted")
	all, err := w.Person.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for path := range all {
		if strings.HasPrefix(path, root+"/"+a.member+"/") {
			t.Errorf("%s was left behind", path)
		}
	}
}

// forgedVMs is a status that claims the victim's VMs.
func forgedVMs(group string, g *guarded) map[string]any {
	vms := g.get(g.name).Status.VMs
	for i := range vms {
		vms[i].Name = fmt.Sprintf("%s-%d", group, vms[i].Ordinal)
	}
	return map[string]any{"vms": vms}
}
