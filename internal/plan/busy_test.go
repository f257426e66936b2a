package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A backup locks VMs for hours. What was stopped for a change is started again, once, and no other VM is stopped.
func TestAVMIsStoppedOnceForAChangeThatVCenterRefusesAsBusy(t *testing.T) {
	for story, c := range map[string]struct {
		off, on  vsphere.Kind
		takeover int // looks between two takeovers, or 0
		many     int
	}{
		"MethodDisabled, TaskInProgress, FileLocked, QuestionPending": {off: vsphere.KindBusy},
		"three may be missing":                                       {off: vsphere.KindBusy, many: 3},
		"three may be missing, and nothing is understood":            {off: vsphere.KindTransient, many: 3},
		"three may be missing, and other replicas take over":         {off: vsphere.KindBusy, on: vsphere.KindOffOnly, takeover: 1, many: 3},
		"it says of a VM that runs only that it has to be off":       {off: vsphere.KindBusy, on: vsphere.KindOffOnly},
		"it forbids the change of a VM that runs":                    {off: vsphere.KindBusy, on: vsphere.KindPermission},
		"it says nothing that is understood":                         {off: vsphere.KindTransient},
		"other replicas take over":                                   {off: vsphere.KindBusy, takeover: 3},
		"other replicas take over, and a VM that runs has to be off": {off: vsphere.KindBusy, on: vsphere.KindOffOnly, takeover: 4},
		"other replicas take over with each look once it is refused": {off: vsphere.KindBusy, on: vsphere.KindOffOnly, takeover: 1},
	} {
		t.Run(story, func(t *testing.T) {
			s := newSaga(t, 5)
			s.strategy(number(0), number(max(c.many, 1)))
			s.locked, s.lockedOn = c.off, c.on
			s.spec.CPU = 4
			began, stops, most := s.now, 0, time.Duration(0)
			off, said := map[string]time.Time{}, ""
			for look := 0; s.now.Sub(began) < 10*time.Minute; look++ {
				p := s.step(nil)
				if c.takeover > 0 && look%c.takeover == 0 {
					s.failures = nil // what a process remembers of failures is gone with it
				}
				s.tick()
				for _, vm := range s.sorted() {
					since, was := off[vm.Name]
					switch isOff := vm.Power == vsphere.PoweredOff; {
					case isOff && !was:
						off[vm.Name], stops = s.now, stops+1
					case !isOff && was:
						most = max(most, s.now.Sub(since))
						delete(off, vm.Name)
					}
				}
				for _, vm := range p.VMs {
					if !vm.RefusedAt.IsZero() {
						said = vm.Message + p.Update.Message
					}
				}
			}
			if stops != 1 || len(off) > 0 || most > 3*time.Minute {
				t.Errorf("VMs were stopped %d times, for %s at most, and are off still: %v", stops, most, off)
			}
			for _, want := range []string{"was stopped at 12:", "was refused at 12:", "No VM is stopped to be changed before 12:"} {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not have %q", said, want)
				}
			}
			s.locked, s.lockedOn = "", ""
			s.until(settled)
			for _, vm := range s.sorted() {
				if vm.CPU != 4 || vm.Power != vsphere.PoweredOn {
					t.Errorf("%s has %d CPUs and is %s", vm.Name, vm.CPU, vm.Power)
				}
			}
		})
	}
}
