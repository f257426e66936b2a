package vmgroup

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

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

// A change in place needs no clone. The VM was stopped for it, and stayed off.
func TestAVMIsNotLeftOffBecauseNoVMCanBeCloned(t *testing.T) {
	for story, prevent := range map[string]func(r *rig, s *v1alpha1.VmGroupSpec){
		"the template is unfit": func(r *rig, _ *v1alpha1.VmGroupSpec) {
			r.vcenter.RemoveTemplate("debian-12")
			r.vcenter.AddTemplate(vsphere.Template{Name: "debian-12", Unfit: "its network adapter has a MAC address that was set by hand"})
		},
		"the metadata for guests is too large": func(_ *rig, s *v1alpha1.VmGroupSpec) {
			s.Guest = &v1alpha1.Guest{Metadata: map[string]string{"text": strings.Repeat("x", 70_000)}}
		},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.edit(func(s *v1alpha1.VmGroupSpec) {
				s.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))}
			})
			before := r.settle().Status.VMs
			r.edit(func(s *v1alpha1.VmGroupSpec) {
				prevent(r, s)
				s.CPU += 2
			})
			r.watched(60, nil)
			for _, was := range before {
				if vm := r.vm(was.Name); vm == nil || vm.Ref.Value != was.MoRef || vm.CPU != r.group().Spec.CPU || vm.Power != vsphere.PoweredOn {
					t.Errorf("%s, which was %s, is %+v", was.Name, was.MoRef, vm)
				}
			}
		})
	}
}
