package operations

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TestWhatFailsInTurnIsNotTriedWithoutAPause: a VM was stopped for a change; neither the change nor its start succeeds.
func TestWhatFailsInTurnIsNotTriedWithoutAPause(t *testing.T) {
	r := newRig(t)
	for i := 1; i <= 3; i++ {
		r.begin(vsphere.OpReconfigure, 0).Failed(&vsphere.Error{Kind: vsphere.KindSpec})
		r.begin(vsphere.OpPowerOn, 0).Failed(&vsphere.Error{Kind: vsphere.KindCapacity})
		f := r.Failures("g")
		if len(f) != 2 || f[0].Kind != vsphere.OpPowerOn || f[1].Kind != vsphere.OpReconfigure {
			t.Fatalf("failures are %+v", f)
		}
		if on, change := f[0].RetryAt.Sub(f[0].At), f[1].RetryAt.Sub(f[1].At); f[0].Count != i || f[1].Count != i || on != 30*time.Second<<(i-1) || change != time.Minute<<(i-1) {
			t.Errorf("failure %d: %+v", i, f)
		}
	}
}

func TestWhatIsRefusedOnAnotherVMThanBeforeIsTriedAgainSoon(t *testing.T) {
	asks, off := vsphere.Met{Power: vsphere.PoweredOff, Question: "moved or copied?"}, vsphere.Met{Power: vsphere.PoweredOff}
	for kind, third := range map[vsphere.OperationKind]int{vsphere.OpMark: 1, vsphere.OpDestroy: 1, vsphere.OpReconfigure: 3, vsphere.OpPowerOn: 3} {
		r := newRig(t)
		for i, met := range []vsphere.Met{asks, asks, off} {
			request := request(kind, 0)
			request.Met = met
			h, err := r.Begin(request)
			if err != nil {
				t.Fatal(err)
			}
			h.Failed(&vsphere.Error{Kind: vsphere.KindBusy})
			want := i + 1
			if met == off {
				want = third
			}
			f := r.Failures("g")[0]
			if f.Count != want || f.Met != met {
				t.Errorf("%s failed %d times: %+v, want %d", kind, i+1, f, want)
			}
			another := vsphere.VM{Power: vsphere.PoweredOn}
			if f.Outdated(&another) != kind.Ends() || f.Outdated(&vsphere.VM{Power: met.Power, Question: met.Question}) {
				t.Errorf("%s: whether it waits is wrong: %+v", kind, f)
			}
		}
	}
}

func TestFailuresOfAnotherOrdinalAndGroupStay(t *testing.T) {
	var f Failures
	at := time.Unix(1000, 0)
	for _, group := range []vsphere.GroupKey{"g", "h"} {
		for ordinal := range int32(2) {
			f.Add(group, vsphere.Failure{Kind: vsphere.OpPowerOn, Ordinal: ordinal, At: at})
		}
	}
	f.Succeeded(Key{"g", 0}, vsphere.OpPowerOff)
	if left := f.Of("g"); len(left) != 1 || left[0].Ordinal != 1 || len(f.Of("h")) != 2 {
		t.Errorf("left are %+v and %+v", left, f.Of("h"))
	}
	f.Expire(at.Add(2 * keepFailures))
	if len(f.of) != 0 {
		t.Errorf("after hours there are %+v", f.of)
	}
}
