package vmgroup

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAGroupOfATemplateOfWhichNoVMCanBeMadeSaysSo(t *testing.T) {
	r := newRig(t)
	const why = "its network adapter has a MAC address that was set by hand"
	r.vcenter.AddTemplate(vsphere.Template{Name: "pinned", HasSnapshot: true, Unfit: why})
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template = "pinned" })
	r.rounds(3)
	if got := r.group().Status; len(r.vcenter.VMs()) > 0 || !strings.Contains(got.LastMessage, why) || got.Phase != v1alpha1.PhaseError {
		t.Errorf("%d VMs, %s: %s", len(r.vcenter.VMs()), got.Phase, got.LastMessage)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CloneMode = v1alpha1.CloneLinked })
	r.settle()
	if len(r.vcenter.VMs()) != 2 {
		t.Errorf("%d VMs of its snapshot, which is fit", len(r.vcenter.VMs()))
	}
}
