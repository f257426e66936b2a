package quota_test

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// A group with 4 VMs is reconciled before it is known which ledgers count. Once that is known it has released them,
// another group has the room, and it claims them again.
func TestAClaimThatWaitedForTheLedgersDoesNotReplaceANewerOne(t *testing.T) {
	store := &quotatest.Store{}
	d, other := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.ask(claim("one", "m", 4, 0, 1), quota.Granted)
	if err := store.MakeHead(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.Tell(d.Observe)
	again := claim("one", "m", 0, 4, 1)
	d.ask(again, quota.Waiting)
	other.grant(claim("two", "m", 0, 4, 1))
	d.flush()
	d.ask(again, quota.Refused)
	if e, entered := store.Entries()[of("one")]; entered {
		t.Errorf("a group that has nothing is charged %+v", e.Usage)
	}
}

// behindTheHead returns a replica that granted group one 4 of 5 VMs and no longer knows which ledgers count, since the
// watch reports an older head. It also returns the head that settles that.
func behindTheHead(t *testing.T) (d *desk, store *quotatest.Store, head quota.Stored) {
	t.Helper()
	store = &quotatest.Store{}
	if err := store.MakeHead(t.Context()); err != nil {
		t.Fatal(err)
	}
	store.Lose("")
	d = newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 4, 1))
	head = store.Stored()[""]
	older := head
	older.Seen = "1"
	d.Observe("", older)
	d.now = d.now.Add(time.Minute)
	d.Collect(t.Context())
	return d, store, head
}

// A group returns quota while it is unknown which ledgers count. Once that is known, and before the write, the group
// claims the returned quota.
func TestWhatWaitsToBeGivenBackIsNotGrantedMeanwhile(t *testing.T) {
	d, store, head := behindTheHead(t)
	d.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.Observe("", head)
	again := claim("one", "m", 1, 4, 1)
	d.ask(again, quota.Waiting)
	for range 2 {
		d.flush()
		d.Ask(t.Context(), again)
	}
	d.ask(again, quota.Granted)
	if used := store.Entries()[of("one")].Usage.VMs; used != 4 {
		t.Errorf("granted 4 VMs, and the ledger says %d", used)
	}
}

func TestOfWhatWaitsToBeGivenBackTheLastWordCounts(t *testing.T) {
	for story, last := range map[string]func(*desk){
		"by its holder": func(d *desk) {
			d.GiveBack(of("one"), policy.UsageOf(spec(2)), policy.UsageOf(spec(2)), v1alpha1.Epoch{Generation: 1, Number: 1})
		},
		"after its deletion": func(d *desk) { d.Leave(of("one"), standing(2)) },
	} {
		t.Run(story, func(t *testing.T) {
			d, store, head := behindTheHead(t)
			d.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
			d.Observe("", head)
			last(d)
			d.flush()
			if used := store.Entries()[of("one")].Usage.VMs; used != 2 {
				t.Errorf("the ledger says %d VMs of a group that has 2", used)
			}
		})
	}
}
