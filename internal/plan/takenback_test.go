package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestWhatWasTakenBackStaysAway: spec went to another template and back, and the first one is now forbidden. Regardless
// of the VMs' fate, and of what is known of them, none of the other template is created.
func TestWhatWasTakenBackStaysAway(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSim(t, rapid.Int32Range(2, 4).Draw(t, "replicas"))
		s.run(settled)
		was := s.spec.Template
		s.spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Paused: true}
		s.spec.Template = "debian-14"
		s.step(nil)
		s.forbidden[was] = true
		s.spec.Template = was
		for range rapid.IntRange(1, 12).Draw(t, "length") {
			switch vms := s.sorted(); rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				if len(vms) > 1 { // for the last one with a wiped status, the group's shape is unknown
					delete(s.vms, rapid.SampledFrom(vms).Draw(t, "lost").Ref.Value)
				}
			case 1:
				at := slices.IndexFunc(happenings, func(h happening) bool { return h.name == "wipe status" })
				happenings[at].do(t, s, nil, "")
			case 2:
				s.crash()
			default:
				s.step(nil)
				s.tick()
			}
			for _, vm := range s.sorted() {
				if vm.template != was {
					t.Fatalf("%s is of template %s", vm.Name, vm.template)
				}
			}
		}
	})
}
