package budget

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

type told struct{ times int }

func (t *told) Changed() { t.times++ }

func TestALoadIsReadWithoutALook(t *testing.T) {
	b := New(Limits{Tasks: 2}, nobody{})
	var sharer told
	b.OnUsage(&sharer)
	b.Usage()
	before := sharer.times
	grant := b.Acquire("c/g", "", 5)
	if held, waiting, limit := b.Load(); held != 2 || waiting != 3 || limit != 2 {
		t.Errorf("%d are held and %d wait, of %d; want 2, 3, 2", held, waiting, limit)
	}
	if sharer.times != before+1 {
		t.Fatalf("the sharer was notified %d times, want once", sharer.times-before)
	}
	grant.Release()
	b.Load()
	b.Acquire("c/g", "", 0)
	if sharer.times != before+1 {
		t.Error("reading the load counted as a look")
	}
}

type nobody struct{}

func (nobody) GroupChanged(vsphere.GroupKey) {}
