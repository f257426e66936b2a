//go:build unix && slow

package integration

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestAManagerThatEndsInTheMiddleOfClonesLeavesNoVMTooMany: vCenter shows their VMs, one without its configuration and
// one without its stamp. Later a foreign clone takes a name of the group, and one that fails leaves a VM.
func TestAManagerThatEndsInTheMiddleOfClonesLeavesNoVMTooMany(t *testing.T) {
	w := troubled.enter(t)
	run, foreign, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
	goOn, goOnToo, clean := sync.OnceFunc(func() { close(run) }), sync.OnceFunc(func() { close(foreign) }), sync.OnceFunc(func() { close(left) })
	vcenter, err := sim.Start(sim.Options{
		Templates: []string{template}, Username: stack.Username, Password: stack.Password,
		Courses: func(name string) sim.Course {
			return map[string]sim.Course{
				"vg-0": {Until: run}, "vg-1": {Until: run, Shows: sim.WithoutExtraConfig}, "vg-3": {Until: foreign, Shows: sim.WithoutExtraConfig},
				"vg-5": {Shows: sim.WithoutExtraConfig, Fails: true, Leaves: left},
			}[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vcenter.Close)
	t.Cleanup(clean)
	t.Cleanup(goOnToo)
	t.Cleanup(goOn)
	proxy, err := sim.NewProxy(vcenter.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	person, err := vcenter.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(person.Close)
	v := newVCenterAt(t, w, "half-made", proxy)
	p := newPlace(t, w, "team-a", "half-made")
	p.apply(p.group("vg", 3, v.of))
	p.until("one VM to be ready, beside two that are being cloned", "vg", func(g *v1alpha1.VmGroup) bool { return g.Status.ReadyReplicas == 1 })
	before := refsOf(t, person)
	w.Manager.Kill()
	if err := w.RestartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := p.untilSays("vg", v1alpha1.ConditionVCenterReachable, metav1.ConditionTrue, v1alpha1.ReasonInventoryIncomplete, "still running", "task-")
	if told := stack.Words(g.Status.Conditions); strings.Contains(told, v1alpha1.ReasonNameConflict) || strings.Contains(told, v1alpha1.ReasonUnstampedVMs) || g.Status.ReadyReplicas != 1 {
		t.Errorf("%d VMs are ready; conditions: %s", g.Status.ReadyReplicas, told)
	}
	goOn()
	g = p.untilRunning("vg", 3)
	for _, vm := range g.Status.VMs {
		if before[vm.MoRef] != vm.Name {
			t.Errorf("%s is %s, and was called %q while it was cloned", vm.Name, vm.MoRef, before[vm.MoRef])
		}
	}
	if clones, destroys := len(proxy.Changes("CloneVM_Task")), len(proxy.Changes("Destroy_Task")); clones != 3 || destroys != 0 {
		t.Errorf("%d clones and %d destroys for 3 VMs", clones, destroys)
	}

	// A clone that the operator did not start takes the next name. The group waits for it, although it creates no VM
	// of the group.
	if _, err := person.StartClone(t.Context(), "/DC0/vm/"+template, folderOf(t, g), "vg-3", nil); err != nil {
		t.Fatal(err)
	}
	p.patch("vg", `{"spec":{"replicas":4}}`)
	p.until("the clone to be named", "vg", func(g *v1alpha1.VmGroup) bool {
		return len(g.Status.VMs) == 4 && g.Status.VMs[3].Name == "vg-3" && strings.Contains(g.Status.VMs[3].Message, "may be making it (task-")
	})
	goOnToo()
	if last := p.untilRunning("vg", 4).Status.VMs[3].Name; last != "vg-4" {
		t.Errorf("the last VM is %s, want vg-4, since a foreign VM is called vg-3", last)
	}
	// A clone of the group fails, and leaves a VM.
	p.patch("vg", `{"spec":{"replicas":5}}`)
	if last := p.untilRunning("vg", 5).Status.VMs[4].Name; last != "vg-6" {
		t.Errorf("the last VM is %s, although a failed clone has left vg-5", last)
	}
	p.untilSays("vg", v1alpha1.ConditionForeignVMs, metav1.ConditionTrue, v1alpha1.ReasonNameConflict, "vg-3", "vg-5")
	clean()
	p.until("the leftover to be gone", "vg", func(g *v1alpha1.VmGroup) bool { return !strings.Contains(stack.Words(g.Status.Conditions), "vg-5") })
	if n := len(proxy.Changes("Destroy_Task")); n != 0 {
		t.Errorf("%d destroys", n)
	}
	p.delete("vg")
	p.untilGone("vg")
	await.True(t, "no VM of the group to be left", func() bool {
		refs := refsOf(t, person)
		return len(refs) == 1 && slices.Contains(slices.Collect(maps.Values(refs)), "vg-3")
	})
}

// refsOf are the names of the VMs in groups' folders by their references.
func refsOf(t *testing.T, person *sim.Operator) map[string]string {
	t.Helper()
	vms, err := person.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refs := map[string]string{}
	for path, vm := range vms {
		if _, name, in := strings.Cut(path, "/vg."); in {
			_, refs[vm.Ref.Value], _ = strings.Cut(name, "/")
		}
	}
	return refs
}
