//go:build unix

package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestGuestsAreAskedToShutDownBeforeTheirVMsAreDestroyed(t *testing.T) {
	w := calm.enter(t)
	const guests = "guests"
	if err := w.Person.AddTemplate(t.Context(), "/DC0/vm", guests); err != nil {
		t.Fatal(err)
	}
	if err := w.Person.SetTemplate(t.Context(), "/DC0/vm/"+guests, map[string]string{sim.GuestTools: "0s", sim.GuestShutdown: "1s"}); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, w, "team-a", "guests")
	const seconds = 4
	g := p.apply(p.group("vg", 3, func(g *v1alpha1.VmGroup) {
		g.Spec.Template, g.Spec.Shutdown = guests, &v1alpha1.Shutdown{TimeoutSeconds: seconds}
	}))
	g = p.untilRunning(g.Name, 3)
	folder, vms := folderOf(t, g), g.Status.VMs
	untilToolsRun(t, w, folder, 3)
	if err := w.Person.Set(t.Context(), folder+"/vg-1", map[string]string{sim.GuestShutdown: sim.GuestNever}); err != nil {
		t.Fatal(err)
	}

	p.patch("vg", `{"spec":{"replicas":1}}`)
	p.until("to say that it waits for a guest", "vg", func(g *v1alpha1.VmGroup) bool {
		return strings.Contains(g.Status.LastMessage, "guests that are waited for") && slices.ContainsFunc(g.Status.VMs, func(vm v1alpha1.VMStatus) bool {
			return vm.Name == "vg-1" && vm.ShutdownTime != nil && strings.Contains(vm.Message, "asked to shut down")
		})
	})
	p.untilRunning("vg", 1)
	p.delete("vg")
	p.untilGone("vg")

	stopped := func(vm v1alpha1.VMStatus) (methods []string, waited time.Duration) {
		var asked time.Time
		for _, call := range w.Proxy.Changes() {
			if call.Object != vm.MoRef || call.UserAgent == sim.UserAgent || call.Method == "PowerOnVM_Task" {
				continue
			}
			methods = append(methods, call.Method)
			if call.Method == "ShutdownGuest" {
				asked = call.Start
			} else if waited == 0 && !asked.IsZero() {
				waited = call.Start.Sub(asked)
			}
		}
		// A mark based on the VM's state before that change is repeated.
		return slices.Compact(methods), waited
	}
	obeys, ignores := []string{"ReconfigVM_Task", "ShutdownGuest", "Destroy_Task"}, []string{"ReconfigVM_Task", "ShutdownGuest", "PowerOffVM_Task", "Destroy_Task"}
	for i, want := range [][]string{obeys, ignores, obeys} {
		methods, waited := stopped(vms[i])
		// A call is slow on a busy machine.
		if least := map[bool]time.Duration{true: time.Second, false: (seconds - 1) * time.Second}[i != 1]; !slices.Equal(methods, want) || waited < least {
			t.Errorf("%s was stopped by %v, want %v; its guest had %s, want at least %s", vms[i].Name, methods, want, waited, least)
		}
	}
}

// untilToolsRun waits until VMware Tools run in n VMs, according to vCenter.
func untilToolsRun(t *testing.T, w *world, folder string, n int) {
	t.Helper()
	await.True(t, "VMware Tools to run", func() bool {
		running := 0
		for _, vm := range inVCenter(t, w, folder) {
			if vm.Tools {
				running++
			}
		}
		return running == n
	})
}
