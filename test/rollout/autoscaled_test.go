//go:build linux && slow

package rollout

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// scaled is a group without replicas, which an autoscaler owns.
const scaled = `
apiVersion: vm.codeconnect.vmworld.com/v1alpha1
kind: VmGroup
metadata: {namespace: %s, name: %s}
spec:
  cpu: 1
  memory: 1
  template: %s
  readiness: {gate: GuestHeartbeat, minReadySeconds: %d}
  shutdown: {timeoutSeconds: 20}
  updateStrategy: {maxSurge: 1, maxUnavailable: 0}
`

// apply simulates a GitOps tool. With a longer readiness time of new VMs, an update takes longer.
func (f *fleet) apply(template string, minReadySeconds int) {
	f.t.Helper()
	if err := f.cluster.ApplyYAML(f.t.Context(), fmt.Appendf(nil, scaled, f.key.Namespace, f.key.Name, template, minReadySeconds)); err != nil {
		f.t.Fatal(err)
	}
}

// scaledDown are the operator's log lines about VMs that a scale-down removed.
func (f *fleet) scaledDown() (lines []string) {
	f.t.Helper()
	for _, r := range shared.Replicas {
		log, err := os.ReadFile(r.Log)
		if err != nil {
			f.t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, `"A VM is destroyed"`) && strings.Contains(line, f.uid) && strings.Contains(line, `"cause":"scale-down"`) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

func TestAnAutoscalerDrivesAGroupUpAndDownThroughAnUpdate(t *testing.T) {
	stack.Story(t)
	enter(t)
	const some, many, few, surge, prove = 4, 8, 3, 1, 5
	f := newNamespace(t, calm, "autoscaled", 1)
	f.apply(early, prove)
	f.untilMade()
	a := f.autoscale(some, nil)
	a.untilScaled(some)
	f.untilUpdated()
	a.untilSettled()
	old := f.vms()
	eye := f.open(bounds{some, some + surge})

	f.apply(late, prove)
	// From then on, added VMs have the new template.
	await.True(t, "the first VM to be replaced by one that is available", func() bool { return of(f.vms(), early) < some })
	eye.expect(bounds{some, many + surge})
	a.untilScaled(many)
	asked := time.Now()
	enough := eye.until(many, asked)
	eye.expect(bounds{many, many + surge})
	for _, call := range f.changes() {
		if _, outdated := old[call.Object]; outdated && call.Start.After(asked) && call.Start.Before(enough) {
			t.Errorf("%s was called on %s while there were less than %d VMs", call.Method, call.Object, many)
		}
	}
	f.until("all VMs to be ready", func(g *v1alpha1.VmGroup) bool { return g.Status.ReadyReplicas >= many })

	before := f.vms()
	if of(before, early) == 0 {
		t.Fatal("no outdated VM is left, so the order of removals is not tested")
	}
	eye.expect(bounds{few, many + surge})
	a.untilScaled(few)
	g := f.untilUpdated()
	eye.expect(bounds{few, few + surge})
	a.untilSettled()
	eye.close()

	// If other VMs than outdated ones had left first, new ones would have replaced these.
	for ref := range f.exactly(g, func(vm sim.VM) bool { return vm.Heartbeat && vm.Extra[mark] == late }) {
		if _, there := before[ref]; !there {
			t.Errorf("%s was cloned although there were VMs enough", ref)
		}
	}
	sizes := a.sizes()
	slices.Sort(sizes)
	if want := []string{"3", "3", "4", "8"}; !slices.Equal(sizes, want) { // minimum, some, many, few
		t.Errorf("the autoscaler has asked for %v VMs, want %v", sizes, want)
	}
	// Kubernetes does not record who scales a group that was applied without replicas.
	if told := f.scaledDown(); len(told) == 0 || slices.ContainsFunc(told, func(line string) bool {
		return !strings.Contains(line, `"fieldManager":"","user":"the audit log of the member's API server names who changed or scaled the VmGroup"`)
	}) {
		t.Errorf("log lines about the removed VMs are %q, want lines without a user that refer to the audit log", told)
	}
	for _, entry := range g.ManagedFields {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:replicas":{}`) && entry.Subresource != "status" &&
			(entry.Manager != "kube-controller-manager" || entry.Subresource != "scale") {
			t.Errorf("%s has written spec.replicas, too", entry.Manager)
		}
	}
}

func TestAnUpdateLeavesTheNumberToAnAutoscalerWithoutTolerance(t *testing.T) {
	stack.Story(t)
	enter(t)
	const desired, surge, prove = 12, 1, 1
	f := newNamespace(t, calm, "tolerated", 1)
	f.apply(early, prove)
	f.untilMade()
	a := f.autoscale(desired, &resource.Quantity{})
	a.untilScaled(desired)
	f.untilUpdated()
	a.untilSettled()
	eye := f.open(bounds{desired, desired + surge})

	f.apply(late, prove)
	f.exactly(f.untilUpdated(), func(vm sim.VM) bool { return vm.Heartbeat && vm.Extra[mark] == late })
	a.untilSettled()
	eye.close()
	if eye.most != desired+surge {
		t.Errorf("at most %d VMs were there: the autoscaler saw no other number", eye.most)
	}
	if sizes := a.sizes(); !slices.Equal(sizes, []string{"3", "12"}) && !slices.Equal(sizes, []string{"12", "3"}) {
		t.Errorf("the autoscaler has asked for %v VMs, want 3 as the least, and 12", sizes)
	}
}
