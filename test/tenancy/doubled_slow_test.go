//go:build unix && slow

package tenancy

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestAMemberThatShowsAGroupsUIDDoublesNoVMOfItWhenTheOperatorEnds: the attacker shows a group with the UID of the
// victim's and one more VM. The operator ends between the clone of the victim's next VM and its record. Its successor
// must identify the VM by its instance UUID.
func TestAMemberThatShowsAGroupsUIDDoublesNoVMOfItWhenTheOperatorEnds(t *testing.T) {
	stack.Story(t)
	w := newWorld() // the operator of the other stories continues
	t.Cleanup(func() { w.end(t.Failed()) })
	w.started(t)
	namespace, name := fresh("doubled"), fresh("db")
	newPlace(t, w, attackers, namespace)
	g := newPlace(t, w, victim, namespace)
	g.apply(name, 2, false)
	g.untilRunning("at first", name, 2)

	a := newAttacker(t, w, "copier", namespace).joined()
	a.Invent(groups, a.invention(name, g.get(name).UID, 3))
	a.untilInvented("its 3 VMs to run", name, func(o hostileapi.Object) bool {
		status, _ := o["status"].(hostileapi.Object)
		return fmt.Sprint(status["readyReplicas"]) == "3"
	})

	cloned := make(chan struct{})
	once := sync.OnceFunc(func() { close(cloned) })
	w.Proxy.Hook(func(call sim.Call) faultproxy.Fault {
		if call.Method != "CloneVM_Task" || call.Name != name+"-2" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Act: faultproxy.HangAfter, After: once}
	})
	g.scale(name, 3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-cloned:
	case <-ctx.Done():
		t.Fatal("the victim's third VM was not cloned")
	}
	w.Manager.Kill()
	inFolder := func(ctx context.Context) (found []string, err error) {
		all, err := w.Person.VMs(ctx)
		for path := range all {
			if strings.HasPrefix(path, root+"/"+victim+"/"+namespace+"/") {
				found = append(found, path)
			}
		}
		return found, err
	}
	if err := await.Condition(ctx, "the clone to end", func(ctx context.Context) (bool, error) {
		found, err := inFolder(ctx)
		return len(found) == 3, err
	}); err != nil {
		t.Fatal(err)
	}
	for _, vm := range g.get(name).Status.VMs {
		if vm.Ordinal == 2 && vm.MoRef != "" {
			t.Fatalf("status has recorded the third VM: %+v", vm)
		}
	}
	w.Proxy.Hook(nil)
	w.Proxy.Reset()
	var err error
	if w.Manager, err = w.StartManager(t.Context(), "manager", w.Hub); err != nil {
		t.Fatal(err)
	}
	g.untilRunning("after the operator has ended", name, 3)
	found, err := inFolder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 3 {
		t.Errorf("the victim has the VMs %q, want 3", found)
	}
	for _, r := range w.Proxy.Changes("CloneVM_Task", "Destroy_Task") {
		t.Errorf("the operator called %s for %s after it was started again", r.Method, r.Name)
	}
}
