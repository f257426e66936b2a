package quota_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// purse is the budget of each member, and what each has paid.
type purse struct {
	*writebudget.Budget
	paid map[string]int
}

func (p purse) Ask(member, key string, bytes int) time.Duration {
	return p.Budget.Ask(member, writebudget.Turn{ID: key}, bytes)
}

func (p purse) Withdraw(member, key string) { p.Budget.Withdraw(member, writebudget.Turn{ID: key}) }

func (p purse) Settle(member string, asked, wrote int) {
	p.paid[member] += wrote
	p.Budget.Settle(member, writebudget.Ledger, asked, wrote)
}

// TestAMemberThatClaimsInALoopHasFewWritesAndDelaysNoOther: one user changes the needs of a group ten times a second, and the
// ledger of the total has two hundred entries. Another member claims every ten seconds.
func TestAMemberThatClaimsInALoopHasFewWritesAndDelaysNoOther(t *testing.T) {
	const rate, burst, seconds = 10_000, 200_000, 60
	d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaMatch, 1_000_000))
	for n := range 200 {
		d.groups = append(d.groups, group(types.UID(fmt.Sprint("old-", n)), "m", 1))
	}
	p := purse{writebudget.New(writebudget.Limits{Rate: rate, Burst: burst}, func() time.Time { return d.now }), map[string]int{}}
	d.Ledger = quota.New(quota.Options{
		Store: &quotatest.Store{}, Lister: d, Listener: d, Now: func() time.Time { return d.now }, Budget: p,
	})
	d.grant(claim("greedy", "m", 0, 1, 1))
	others := 0
	var last quota.Claim
	waited := time.Duration(0)
	for n := range int32(10 * seconds) {
		last = claim("greedy", "m", 1, n+2, 1)
		answer := d.Ask(t.Context(), last)
		waited = max(waited, answer.Wait)
		if d.flush(); n == 0 {
			d.ask(last, quota.Granted)
		}
		if n%100 == 5 {
			d.grant(claim("modest", "other", int32(others), int32(others+1), 1)) // at once
			others++
		}
		d.now = d.now.Add(100 * time.Millisecond)
	}
	if most := burst + rate*seconds + 40_000; p.paid["m"] > most || waited == 0 {
		t.Errorf("a member paid for %d bytes in a minute, want %d at most; the longest wait was %s", p.paid["m"], most, waited)
	}
	t.Logf("paid: %v", p.paid)
	for n := 0; d.Ask(t.Context(), last).Outcome == quota.Waiting; n++ {
		if n > 200 {
			t.Fatal("the last claim is never answered")
		}
		d.flush()
		d.now = d.now.Add(100 * time.Millisecond)
	}
	d.ask(last, quota.Granted)
}
