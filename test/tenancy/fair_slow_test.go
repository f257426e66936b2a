//go:build unix && slow

package tenancy

import (
	"context"
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// slots is the number of concurrent tasks in the vCenter that tenants share.
	slots = 8
	// manyGroups of one VM each are nineteen rounds of clones, and fewGroups more than any share.
	manyGroups, fewGroups = 150, 12
)

// TestAMemberWithManyGroupsLeavesOthersTheirShare: one member has many small groups that wait for their VMs. Another
// member comes, and then a third one. The story ends one clone at a time and checks whose clone begins then, so that no
// time is measured.
func TestAMemberWithManyGroupsLeavesOthersTheirShare(t *testing.T) {
	w := shared.enterAlone(t)
	v := newHeldVCenter(t, w, "tenants")
	many, few, late := newTenant(t, w, v, "many"), newTenant(t, w, v, "few"), newTenant(t, w, v, "late")
	many.applies(manyGroups)
	v.untilFull() // a member alone has all slots
	few.comesTo(many)
	late.comesTo(many, few)
	v.letGo()
	v.untilAllRun(manyGroups + 2*fewGroups)
}

// enterAlone is enter for a story that runs alone: a slot is kept for two seconds for the next group.
func (w *world) enterAlone(t *testing.T) *world {
	t.Helper()
	stack.Story(t)
	return w.started(t)
}

// tenant is a member with groups of one VM each, whose names begin with its own.
type tenant struct {
	*attacker
	name    string
	vcenter *heldVCenter
	groups  int
}

func newTenant(t *testing.T, w *world, v *heldVCenter, name string) *tenant {
	t.Helper()
	return &tenant{attacker: newAttacker(t, w, name, fresh(name)).joined(), name: name, vcenter: v}
}

// applies creates groups and waits until each has asked for a slot, or is about to: before that, it shows its folder.
func (n *tenant) applies(groups int) {
	n.t.Helper()
	one := int32(1)
	for i := range groups {
		n.applySpec(fmt.Sprintf("%s-%d", n.name, i), v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &one, VCenter: n.vcenter.name})
	}
	n.groups += groups
	ready := 0
	await.Until(n.t, fmt.Sprintf("%d groups of %s to wait for their VMs", n.groups, n.name), func(ctx context.Context) (bool, error) {
		list := &v1alpha1.VmGroupList{}
		err := n.cluster.List(ctx, list, client.InNamespace(n.namespace))
		ready = 0
		for i := range list.Items {
			if g := &list.Items[i]; g.Status.Folder != nil && g.Status.ObservedGeneration == g.Generation {
				ready++
			}
		}
		return ready == n.groups, err
	}, func() string { return fmt.Sprintf("%d do", ready) })
}

// comesTo adds the tenant to others that use all slots, and ends their clones one by one, until all members have their
// share.
//
// A free slot goes to the member with the fewest. So the first clone that begins should be the tenant's, and the next
// ones, until it has its share. A busy manager can take more than two seconds to claim a slot, and then another member
// has it for one clone. So a few clones of others are allowed before the first of the tenant: as many as its share. And
// it must have its share, as all must, when as many clones have ended as ran when it came. Without members, the
// tenant's first clone comes after those of all waiting groups.
func (n *tenant) comesTo(others ...*tenant) {
	n.t.Helper()
	v, share := n.vcenter, slots/(len(others)+1)
	n.applies(fewGroups)
	v.untilFull()
	before := v.count()
	for ended := 0; ; ended++ {
		has, began := v.running(), v.begunSince(before)
		switch enough := has[n.name] >= share; {
		case began[n.name] == 0 && ended > share:
			n.t.Fatalf("%d clones of others began after %s had come, and none of its own: %v; at most %d may", ended, n.name, began, share)
		case enough && haveAll(has, share, others):
			n.t.Logf("%s has %d of %d slots after the end of %d clones; what runs: %v; what began: %v", n.name, has[n.name], slots, ended, has, began)
			return
		case ended == slots:
			n.t.Fatalf("not all members have %d of %d slots after the end of %d clones: %v; what began: %v", share, slots, ended, has, began)
		}
		v.endOldest()
		v.untilFull()
	}
}

func haveAll(has map[string]int, share int, tenants []*tenant) bool {
	for _, n := range tenants {
		if has[n.name] < share {
			return false
		}
	}
	return true
}
