package operations

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// cloned is a tracker with a clone whose task ended at mark 5 and made vm-7.
func cloned(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.begin(vsphere.OpClone, 0).Accepted("task-1", r.onDone)
	r.Succeeded("task-1", vsphere.VMRef("vm-7"), 5)
	return r
}

func TestACloneThatOnlyItsOperationIdentifiesStaysInFlightUntilItsGroupRecordedIt(t *testing.T) {
	r := cloned(t)
	r.Settle(100, held) // even though a later listing was applied
	r.inFlight(1)
	if got := r.InFlight("g")[0].VM; got != vsphere.VMRef("vm-7") {
		t.Errorf("the operation names %v, want the VM that it made", got)
	}
	told := r.told
	r.Settle(101, held)
	if r.told == told {
		t.Error("the group was not notified, and would wait forever")
	}
	r.Claimed("g", []vsphere.Ref{vsphere.VMRef("vm-8")})
	r.Claimed("other", []vsphere.Ref{vsphere.VMRef("vm-7")})
	r.inFlight(1)
	r.Claimed("g", []vsphere.Ref{vsphere.VMRef("vm-7")})
	r.inFlight(0)
}

func TestAHeldCloneGivesWayToTheNextStepButNotToAnotherClone(t *testing.T) {
	r := cloned(t)
	r.Settle(100, held)
	if _, err := r.Begin(request(vsphere.OpClone, 0)); vsphere.KindOf(err) != vsphere.KindBusy {
		t.Errorf("a second clone: %v", err)
	}
	r.begin(vsphere.OpPowerOn, 0)
	if ops := r.InFlight("g"); len(ops) != 1 || ops[0].Kind != vsphere.OpPowerOn {
		t.Errorf("in flight: %+v", ops)
	}
}

func TestAHeldCloneIsNotHeldForEver(t *testing.T) {
	r := cloned(t)
	r.clock.advance(holdFor - time.Second)
	r.Settle(100, held)
	r.inFlight(1)
	r.clock.advance(time.Second)
	r.Settle(100, held)
	r.inFlight(0)
}

func TestACloneThatIsFoundOutsideOfTheRootHasFailedAndBacksOff(t *testing.T) {
	r := newRig(t)
	for count := 1; count <= 3; count++ {
		r.begin(vsphere.OpClone, 0).Accepted("task-1", r.onDone)
		r.Found("task-1", vsphere.VMRef("vm-7"), 5)
		if got := r.InFlight("g"); len(got) != 1 || !got[0].VM.IsZero() {
			t.Fatalf("in flight: %+v, want one that does not claim to have made the VM that it found", got)
		}
		r.Settle(4, held) // being looked up
		r.inFlight(1)
		r.Settle(100, astray)
		r.inFlight(0)
		f := r.Failures("g")
		if len(f) != 1 || f[0].Count != count || f[0].RetryAt.Sub(f[0].At) < time.Minute || f[0].VM != vsphere.VMRef("vm-7") {
			t.Fatalf("failures after %d attempts: %+v", count, f)
		}
	}
	r.begin(vsphere.OpClone, 0).Accepted("task-1", r.onDone)
	r.Found("task-1", vsphere.VMRef("vm-7"), 5)
	r.Settle(100, seen) // it was moved back
	r.inFlight(0)
	if f := r.Failures("g"); len(f) != 0 {
		t.Errorf("failures are left after a success: %+v", f)
	}
}
