//go:build unix && slow

package integration

import (
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestACloneOfSomebodyElseThatHangsHoldsOnlyGroupsOfItsTemplate opens another connection while a user's clone hangs:
// the operator cannot distinguish it from one of an earlier connection.
func TestACloneOfSomebodyElseThatHangsHoldsOnlyGroupsOfItsTemplate(t *testing.T) {
	const another = "windows"
	w := calm.enter(t)
	sameManager(t, w)
	hangs := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(hangs) })
	vcenter, err := sim.Start(sim.Options{
		Templates: []string{template, another}, Username: stack.Username, Password: stack.Password,
		HoldClone: func(name string) (<-chan struct{}, bool) {
			if name == "foreign" {
				return hangs, false
			}
			return nil, false
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vcenter.Close)
	t.Cleanup(goOn)
	proxy, err := sim.NewProxy(vcenter.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	v := newVCenterAt(t, w, "hanging", proxy)
	p := newPlace(t, w, "team-a", "hanging")
	p.apply(p.group("same", 1, v.of))
	p.apply(p.group("another", 1, v.of, func(g *v1alpha1.VmGroup) { g.Spec.Template = another }))
	before := p.untilRunning("same", 1)
	p.untilRunning("another", 1)

	person, err := vcenter.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(person.Close)
	clone, err := person.StartClone(t.Context(), "/DC0/vm/"+template, "/DC0/vm", "foreign", nil)
	if err != nil {
		t.Fatal(err)
	}
	v.patch(`{"spec":{"inventory":{"pollSeconds":120}}}`)
	waits := func() {
		t.Helper()
		p.untilSays("same", v1alpha1.ConditionVCenterReachable, metav1.ConditionTrue, v1alpha1.ReasonInventoryIncomplete,
			clone.Reference().Value, "/DC0/vm/"+template, "cancel that task")
	}
	waits()
	proxy.Reset()
	p.patch("same", `{"spec":{"replicas":2}}`)
	p.patch("another", `{"spec":{"replicas":2}}`)
	p.untilRunning("another", 2)
	waits()
	if n := len(proxy.Changes("CloneVM_Task")); n != 1 {
		t.Errorf("%d clones; want that of the group of another template alone", n)
	}

	if err := clone.Cancel(t.Context()); err != nil {
		t.Fatal(err)
	}
	goOn()
	if after := p.untilRunning("same", 2); after.Status.VMs[0].MoRef != before.Status.VMs[0].MoRef {
		t.Errorf("VM %s became %s", before.Status.VMs[0].MoRef, after.Status.VMs[0].MoRef)
	}
	if clones, destroys := len(proxy.Changes("CloneVM_Task")), len(proxy.Changes("Destroy_Task")); clones != 2 || destroys != 0 {
		t.Errorf("%d clones and %d destroys, want the two clones that were asked for", clones, destroys)
	}
}
