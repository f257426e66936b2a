package plan

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// replacing is a group whose VMs, but for the last one, are to be replaced.
func replacing(vms ...vsphere.VM) Input {
	for i := range vms[:len(vms)-1] {
		vms[i].Stamp.Revision = replaced.Revision
	}
	in := input(int32(len(vms)), has(vms...))
	in.Shapes = []Shape{{Recorded: replaced}}
	in.Rollout = &Rollout{Revision: revision, From: []string{replaced.Revision}, Start: epoch}
	in.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)}
	return in
}

func TestAnUpdateThatWaitsForAVMSaysWhatToDo(t *testing.T) {
	const others = "raise spec.updateStrategy.maxUnavailable"
	const mend = "mend it, "
	p := Compute(replacing(makeVM(0), makeVM(1), makeVM(2, disconnected)))
	if m := p.Update.Message; !strings.Contains(m, "waiting for web-2, which is not available") || !strings.Contains(m, mend) || !strings.Contains(m, others) {
		t.Errorf("it says %q", m)
	}
	p = Compute(replacing(makeVM(0, disconnected), makeVM(1)))
	if m := p.Update.Message; !strings.Contains(m, "waiting for web-0, which is not available") || !strings.Contains(m, mend) || strings.Contains(m, others) {
		t.Errorf("no other is left, and it says %q", m)
	}
}
