//go:build unix && slow

package integration

import (
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestAManagerThatEndsInTheMiddleOfClonesLeavesNoVMTooMany: vCenter shows their VMs, one without its configuration and one without its stamp. A clone that fails later leaves one that
// is nobody's.
func TestAManagerThatEndsInTheMiddleOfClonesLeavesNoVMTooMany(t *testing.T) {
	w := troubled.enter(t)
	run, left := make(chan struct{}), make(chan struct{})
	goOn, clean := sync.OnceFunc(func() { close(run) }), sync.OnceFunc(func() { close(left) })
	vcenter, err := sim.Start(sim.Options{
		Templates: []string{template}, Username: stack.Username, Password: stack.Password,
		Courses: func(name string) sim.Course {
			return map[string]sim.Course{
				"vg-0": {Until: run}, "vg-1": {Until: run, Shows: sim.WithoutExtraConfig}, "vg-3": {Shows: sim.WithoutExtraConfig, Fails: true, Leaves: left},
			}[name]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(vcenter.Close)
	t.Cleanup(clean)
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
	g := p.until("the clones to be named", "vg", func(g *v1alpha1.VmGroup) bool {
		named := 0
		for _, vm := range g.Status.VMs {
			if strings.Contains(vm.Message, "may be making it (task-") {
				named++
			}
		}
		return named == 2
	})
	if told := words(g.Status.Conditions); strings.Contains(told, v1alpha1.ReasonNameConflict) || strings.Contains(told, v1alpha1.ReasonUnstampedVMs) || g.Status.ReadyReplicas != 1 {
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

	p.patch("vg", `{"spec":{"replicas":4}}`)
	g = p.untilRunning("vg", 4)
	if last := g.Status.VMs[3].Name; last != "vg-4" {
		t.Errorf("the last VM is %s, although a failed clone has left vg-3", last)
	}
	p.untilSays("vg", v1alpha1.ConditionForeignVMs, metav1.ConditionTrue, v1alpha1.ReasonNameConflict, "vg-3")
	clean()
	p.until("the leftover to be gone", "vg", func(g *v1alpha1.VmGroup) bool { return !strings.Contains(words(g.Status.Conditions), "vg-3") })
	if n := len(proxy.Changes("Destroy_Task")); n != 0 {
		t.Errorf("%d destroys", n)
	}
	p.delete("vg")
	p.untilGone("vg")
	await.True(t, "no VM to be left", func() bool { return len(refsOf(t, person)) == 0 })
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
