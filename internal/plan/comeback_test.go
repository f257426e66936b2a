package plan

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestARestartedVMThatDoesNotComeBackIsReplacedByTheNextEdit, as the message of the stopped update says.
func TestARestartedVMThatDoesNotComeBackIsReplacedByTheNextEdit(t *testing.T) {
	for _, byDefault := range []bool{false, true} {
		for vms := int32(1); vms <= 3; vms++ {
			s := newSaga(t, vms)
			if s.strategy(nil, nil); !byDefault {
				s.strategy(number(0), number(1))
			}
			s.spec.CPU = 4
			s.until(updating)
			for _, k := range s.known {
				if k.Updating {
					s.vms[k.MoRef].boot = -1
				}
			}
			s.until(reason(v1alpha1.ReasonRolloutStopped))
			s.template("debian-13")
			s.until(settled)
		}
	}
}

// TestVMsThatAreStillStartingAreNotNeedless: all were off overnight, and one edit starts them and requests another
// template. Only one of the new VMs boots.
func TestVMsThatAreStillStartingAreNotNeedless(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(percent("100%"), number(0))
	s.spec.PowerState = v1alpha1.PoweredOff
	s.until(settled)
	s.spec.PowerState = v1alpha1.PoweredOn
	for _, vm := range s.sorted() {
		vm.boot = 5
	}
	s.template("debian-13")
	s.looks(1)
	for _, name := range []string{"web-4", "web-5"} {
		s.byName(name).boot = -1
	}
	for range 20 {
		p := s.step(nil)
		s.tick()
		if p.Update.Reason == v1alpha1.ReasonRolloutStopped && p.Existing < 5 {
			t.Fatalf("%d VMs are there: %v", p.Existing, s.trail)
		}
	}
	if p := s.step(nil); p.Ready != 3 {
		t.Errorf("%d of 3 VMs are available: %v", p.Ready, s.trail)
	}
}

// TestAVMThatIsBrieflyNotReadyDoesNotPayForAWreck: a template never boots, and spec asks for another that does not
// either. At that moment, an older VM misses a heartbeat.
func TestAVMThatIsBrieflyNotReadyDoesNotPayForAWreck(t *testing.T) {
	s := newSaga(t, 3)
	s.broken("debian-14")
	s.until(reason(v1alpha1.ReasonRolloutStopped))
	before := s.byName("web-1")
	before.boot = 1000
	s.looks(1)
	s.broken("debian-13")
	s.looks(1)
	before.boot = 1
	s.looks(20)
	if p := s.step(nil); p.Ready != 3 || s.vms[before.Ref.Value] == nil {
		t.Errorf("%d VMs are available: %v", p.Ready, s.trail)
	}
}

// TestTheHealthyVMStaysWhereOneIsWantedAgain: two of four were chosen to leave, the oldest and a sick one, and no
// action was taken yet.
func TestTheHealthyVMStaysWhereOneIsWantedAgain(t *testing.T) {
	s := newSaga(t, 4)
	s.spec.ScaleDown = &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest}
	s.byName("web-3").boot = 1000
	s.looks(1)
	s.replicas(2)
	s.step(func(p Plan) Plan { p.Actions = nil; return p })
	s.replicas(3)
	s.until(func(p Plan) bool { return len(p.Doomed) == 0 && p.Existing == 3 })
	if s.byName("web-0") == nil || s.byName("web-3") != nil {
		t.Errorf("there are %v", s.first())
	}
}

// vCenter rejects a number of CPUs that is not a multiple of the cores per socket.
func TestAVMGetsSmallerSocketsForANumberOfCPUsThatItsOwnDoNotFit(t *testing.T) {
	s := newSaga(t, 3)
	for _, edit := range []struct{ cpu, cores int32 }{{4, 2}, {3, 1}, {4, 2}} { // templates have sockets of 2
		s.spec.CPU = edit.cpu
		s.until(settled)
		for _, vm := range s.sorted() {
			if vm.CPU != edit.cpu || vm.HotAdd.CoresPerSocket != edit.cores {
				t.Errorf("%s has %d CPUs in sockets of %d, want %+v", vm.Name, vm.CPU, vm.HotAdd.CoresPerSocket, edit)
			}
		}
	}
}

func TestOtherSocketsReachVMsWithARestart(t *testing.T) {
	s := newSaga(t, 3)
	s.spec.CPU = 4
	s.until(settled)
	before := map[string]vsphere.Ref{}
	for _, vm := range s.sorted() {
		vm.HotAdd.CPU, vm.HotAdd.Memory, vm.HotAdd.CoresPerSocket = true, true, 1
		before[vm.Name] = vm.Ref
	}
	s.spec.CoresPerSocket = 4
	s.until(settled)
	for _, vm := range s.sorted() {
		if vm.CPU != 4 || vm.HotAdd.CoresPerSocket != 4 || vm.Ref != before[vm.Name] {
			t.Errorf("%s, which was %s, is %s with %d CPUs in sockets of %d", vm.Name, before[vm.Name].Value, vm.Ref.Value, vm.CPU, vm.HotAdd.CoresPerSocket)
		}
	}
	// An undo leads back to the sockets of the template.
	s.spec.CoresPerSocket = 0
	s.until(settled)
	for _, vm := range s.sorted() {
		if vm.Stamp.Revision != Revision(s.spec) || vm.HotAdd.CoresPerSocket != templateCores {
			t.Errorf("%s has revision %s and sockets of %d", vm.Name, vm.Stamp.Revision, vm.HotAdd.CoresPerSocket)
		}
	}
}

func TestAnotherNetworkStopsNoVMWhoseSizeAPersonChanged(t *testing.T) {
	s := newSaga(t, 3)
	for _, vm := range s.sorted() {
		vm.CPU, vm.HotAdd.CoresPerSocket = 4, 1
	}
	stops := countStops(s)
	s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
	s.until(settled)
	for _, vm := range s.sorted() {
		if *stops != 0 || vm.network != "dmz" || vm.CPU != 4 || vm.HotAdd.CoresPerSocket != 1 {
			t.Errorf("after %d stops, %s has %d CPUs in sockets of %d and network %s", *stops, vm.Name, vm.CPU, vm.HotAdd.CoresPerSocket, vm.network)
		}
	}
}

// TestAVMIsStoppedOnceForWhatItCannotGet, and started unchanged; no other is stopped. The rejection appears only while
// the VM is off. It stays, also for the next owner of the group; each owner checks privileges anew.
func TestAVMIsStoppedOnceForWhatItCannotGet(t *testing.T) {
	for name, test := range map[string]struct {
		refuse func(s *saga, refuses bool)
		owners int
		told   string
	}{
		"vCenter refuses the size":            {func(s *saga, refuses bool) { s.unfit = refuses }, 5, "vCenter refused to give web-2 (vm-3) 3 CPUs"},
		"the account may not make the change": {func(s *saga, refuses bool) { s.denies = refuses }, 1, "lacks a privilege to change web-2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSaga(t, 3)
			s.strategy(number(0), number(1))
			test.refuse(s, true)
			stops := countStops(s)
			s.spec.CPU = 3
			for range test.owners {
				s.crash()
				s.looks(60 / test.owners)
			}
			p := s.step(nil)
			if *stops != 1 || p.Ready != 3 || !strings.Contains(p.Update.Message, test.told) {
				t.Errorf("%d stops; %d are available; %+v", *stops, p.Ready, p.Update)
			}
			test.refuse(s, false)
			s.spec.CPU = 4
			s.until(settled)
		})
	}
}

// TestWhatVCenterRefusedOnceIsTriedAgainForTheNextEdit: a user has fixed the cause, and requests the same again.
func TestWhatVCenterRefusedOnceIsTriedAgainForTheNextEdit(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	s.unfit = true
	s.spec.CPU = 3
	s.until(reason(v1alpha1.ReasonRolloutStopped))
	s.looks(6)
	const again = "set the old size, and once condition UpToDate is True this one again"
	if p := s.step(nil); !strings.Contains(p.Update.Message, again) || strings.Contains(p.Update.Message, "replaceTrigger") {
		t.Errorf("it says %q", p.Update.Message)
	}
	s.spec.UpdateStrategy.MaxFailures = 9
	s.until(reason(v1alpha1.ReasonRolloutPending))
	s.looks(6)
	if p := s.step(nil); !strings.Contains(p.Update.Message, again) || strings.Contains(p.Update.Message, "multiple") {
		t.Errorf("it says %q", p.Update.Message)
	}
	s.spec.CPU = 2
	s.until(settled)
	s.unfit = false
	stops := countStops(s)
	s.spec.CPU = 3
	s.until(settled)
	if *stops != 3 {
		t.Errorf("3 VMs were stopped %d times: %v", *stops, s.trail)
	}
}

// TestAVMThatCanNeitherBeChangedNorStartedIsNotTriedWithoutAPause.
func TestAVMThatCanNeitherBeChangedNorStartedIsNotTriedWithoutAPause(t *testing.T) {
	s := newSaga(t, 3)
	s.strategy(number(0), number(1))
	s.denies, s.noRoom = true, true
	tries := 0
	s.watch = func(_ Input, p Plan) {
		for _, a := range p.Actions {
			if a.Kind == ReconfigureVM || a.Kind == PowerOnVM {
				tries++
			}
		}
	}
	s.spec.CPU = 3
	s.looks(60)
	if tries > 20 {
		t.Errorf("%d tries in 10 minutes: %v", tries, s.trail)
	}
}

func countStops(s *saga) *int {
	stops := 0
	s.watch = func(_ Input, p Plan) {
		for _, a := range p.Actions {
			if a.Kind == ShutdownGuest || a.Kind == PowerOffVM {
				stops++
			}
		}
	}
	return &stops
}

// An API server without the schema accepts any number.
func TestNoVMIsClonedWithSocketsThatCannotBeFilled(t *testing.T) {
	for _, cores := range []int32{2, -1, 8} {
		in := input(2)
		in.Spec.CPU, in.Spec.CoresPerSocket = 3, cores
		p := Compute(in)
		if len(p.Actions) > 0 || !blocked(v1alpha1.ReasonInvalidSpec)(p) || !strings.Contains(p.Blockers[0].Message, "spec.coresPerSocket") {
			t.Errorf("%d cores per socket: actions %v, blockers %+v", cores, p.Actions, p.Blockers)
		}
	}
}
