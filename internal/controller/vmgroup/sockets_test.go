package vmgroup

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestSocketsAreThoseOfSpecOrOfTheTemplate(t *testing.T) {
	r := newRig(t)
	r.vcenter.RemoveTemplate("debian-12")
	r.vcenter.AddTemplate(vsphere.Template{Name: "debian-12", CoresPerSocket: 4})
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.CPU, s.UpdateStrategy = 4, &v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))}
	})
	before := r.settle().Status.VMs
	have := func(story string, cpu, cores int32) {
		t.Helper()
		for _, was := range before {
			if vm := r.vm(was.Name); vm == nil || vm.Ref.Value != was.MoRef || vm.CPU != cpu || vm.HotAdd.CoresPerSocket != cores || vm.Power != vsphere.PoweredOn {
				t.Errorf("%s: %s, which was %s, is %+v, want %d CPUs in sockets of %d", story, was.Name, was.MoRef, vm, cpu, cores)
			}
		}
	}
	have("cloned", 4, 4)
	for _, edit := range []struct {
		story             string
		cpu, cores, given int32
	}{
		{"spec sets them", 4, 1, 1},
		{"spec leaves them to the template", 4, 0, 4},
		{"the CPUs do not fill the template's", 3, 0, 3},
		{"the CPUs fill them again", 4, 0, 4},
	} {
		r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.CoresPerSocket = edit.cpu, edit.cores })
		r.watched(60, nil)
		have(edit.story, edit.cpu, edit.given)
	}
	// An API server without the schema accepts it.
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.CoresPerSocket = 3, 2 })
	r.rounds(10)
	says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonInvalidSpec)
	have("spec has CPUs that do not fill its sockets", 4, 4)
	if a := r.group().Status.Admitted; a == nil || a.CPU != 4 {
		t.Errorf("admitted is %+v", a)
	}
}
