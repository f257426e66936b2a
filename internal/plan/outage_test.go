package plan

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestAVMThatWasToLeaveAndWasAwayIsReadyAnew: it was chosen to leave while its host was unreachable, and is kept after
// all. It must be ready for minReadySeconds before another can leave for it.
func TestAVMThatWasToLeaveAndWasAwayIsReadyAnew(t *testing.T) {
	for name, looks := range map[string]int{"it was chosen a moment ago": 1, "it was chosen long ago": 20} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, 2)
			s.spec.Readiness.MinReadySeconds = 30
			s.until(settled)
			s.byName("web-0").Connection = vsphere.Disconnected
			s.replicas(1)
			s.looks(looks)
			if v := vmStatus(t, s.step(nil), 0); v.Phase != v1alpha1.VMDeleting {
				t.Fatalf("web-0 is %s", v.Phase)
			}
			s.blind = true
			s.now = s.now.Add(30 * time.Minute)
			s.looks(1)
			back := s.now
			s.blind, s.byName("web-0").Connection = false, vsphere.Connected
			s.template("debian-13")
			for s.now.Before(back.Add(20 * time.Second)) {
				p := s.step(nil)
				if v := vmStatus(t, p, 0); v.Available || v.Phase == v1alpha1.VMReady && v.ReadySince.Before(back) {
					t.Errorf("%s after its host is back, web-0 counts as ready since %s", s.now.Sub(back), v.ReadySince)
				}
				if v := vmStatus(t, p, 1); v.Phase == v1alpha1.VMDeleting {
					t.Errorf("web-1 leaves, and no other VM has been ready for long: %s", vmsOf(p))
				}
				s.tick()
			}
		})
	}
}
