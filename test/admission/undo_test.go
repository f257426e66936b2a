//go:build unix

package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

func mostCPU(n int32) func(*v1alpha1.VmGroupPolicySpec) {
	return func(s *v1alpha1.VmGroupPolicySpec) { s.Limits.CPU = &v1alpha1.CountRange{Max: new(n)} }
}

// TestAnUndoToWhatIsForbiddenByNowPasses reverts an edit that has reached one VM of three, after a policy was
// tightened. While resize is Hot, running VMs keep their size.
func TestAnUndoToWhatIsForbiddenByNowPasses(t *testing.T) {
	stack.Story(t)
	r := newRule(t, "undo", mostCPU(6))
	p := newPlace(t, "team-a", r.name, r.labels())
	r.untilKnownIn(p, 6)
	p.apply(p.group("vg", 3, func(g *v1alpha1.VmGroup) {
		g.Spec.CPU, g.Spec.UpdateStrategy = 6, &v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot}
	}))
	before := p.shaped(p.untilRunning("vg", 3), 3, 6)
	p.edit(p, "vg", `{"spec": {"cpu": 2}}`)
	p.untilGroup("VMs to wait for a restart", "vg", func(g *v1alpha1.VmGroup) bool { return restartsPending(g) == 3 })
	if err := world.Person.PowerOff(t.Context(), before["vg-0"].Path); err != nil {
		t.Fatal(err)
	}
	g := p.untilGroup("a VM to be updated", "vg", func(g *v1alpha1.VmGroup) bool {
		return g.Status.UpdatedReplicas == 1 && g.Status.ReadyReplicas == 3 && restartsPending(g) == 2
	})
	small, large := g.Status.UpdateRevision, g.Status.VMs[1].Revision

	r.change(mostCPU(3))
	r.untilKnownIn(p, 3)
	p.untilAllSay("exceeds the maximum 3", p.group("probe", 1, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 4 }))
	asker, warned := warningClient(t, p.Cluster)
	send := func(by client.Client, patch string, options ...client.PatchOption) error {
		return by.Patch(t.Context(), p.group("vg", 0), client.RawPatch("application/merge-patch+json", []byte(patch)), options...)
	}
	// The policy of the member comes first, with the same message: callers that bypass the webhook meet it, too.
	for _, by := range []client.Client{asker, p.pastTheDoor()} {
		await.Until(t, "the maximum to hold", func(context.Context) (bool, error) {
			err := send(by, `{"spec": {"cpu": 5}}`, client.DryRunAll)
			if err != nil && strings.Contains(err.Error(), "exceeds the maximum 3") {
				return true, nil
			}
			return false, err
		})
		refused(t, send(by, `{"spec": {"cpu": 6, "replicas": 4}}`, client.DryRunAll), "spec.cpu: Invalid value: 6: exceeds the maximum 3")
	}
	warned.take()
	if err := send(asker, `{"spec": {"cpu": 6}}`); err != nil {
		t.Fatalf("the undo: %v", err)
	}
	if said := strings.Join(warned.take(), "\n"); !strings.Contains(said, "accepted, because 2 VMs still have revision "+large) || !strings.Contains(said, "exceeds the maximum 3") {
		t.Errorf("the undo is warned of with %q", said)
	}
	p.untilCompliance("vg", "False", v1alpha1.ReasonPolicyViolated, 3, "exceeds the maximum 3", large+", which 2 VMs have still", small+" was admitted last")

	if err := world.Person.Destroy(t.Context(), before["vg-2"].Path); err != nil {
		t.Fatal(err)
	}
	g = p.untilGroup("the loss to be reported", "vg", func(g *v1alpha1.VmGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant)
		return g.Status.Replicas == 2 && strings.Contains(c.Message, large+", which 1 VM has still")
	})
	if i := slices.IndexFunc(g.Status.VMs, func(vm v1alpha1.VMStatus) bool { return vm.Name == "vg-2" }); i < 0 || g.Status.VMs[i].MoRef != "" && g.Status.VMs[i].Phase != v1alpha1.VMLost {
		t.Errorf("the VMs are %+v, want vg-2 among them, and lost", g.Status.VMs)
	}
	p.sizes(g, map[string]int32{"vg-0": 2, "vg-1": 6})

	r.change(mostCPU(6))
	p.untilRunning("vg", 3)
}

// restartsPending is the number of VMs that wait for a restart.
func restartsPending(g *v1alpha1.VmGroup) (n int) {
	for i := range g.Status.VMs {
		if g.Status.VMs[i].RestartPending {
			n++
		}
	}
	return n
}

// sizes fails unless vCenter has these VMs of a group, with this many CPUs.
func (p *place) sizes(g *v1alpha1.VmGroup, want map[string]int32) {
	p.t.Helper()
	got := map[string]int32{}
	for name, vm := range p.vms(g) {
		got[name] = vm.CPU
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("the CPUs of VMs are %v, want %v", got, want)
	}
}
