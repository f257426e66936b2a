package quota_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// answers are the groups whose answers have changed.
type answers chan quota.Key

// QuotaAnswered implements quota.Listener.
func (a answers) QuotaAnswered(id quota.Key) { a <- id }

// slowMembers answer after some time that a group has no remnants.
type slowMembers struct {
	asked    chan string
	patience map[string]*atomic.Int64
}

// Left implements quota.Inspector.
func (s slowMembers) Left(ctx context.Context, id quota.Key, _, _ string) (policy.Usage, bool, error) {
	s.asked <- id.Member
	select {
	case <-time.After(time.Duration(s.patience[id.Member].Load())):
		return policy.Usage{}, true, nil
	case <-ctx.Done():
		return policy.Usage{}, false, ctx.Err()
	}
}

func TestTheLedgerRunsUntilItIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		var tries atomic.Int32
		store := &quotatest.Store{OnWrite: func() quotatest.Fault {
			if !away.Load() {
				return quotatest.None
			}
			tries.Add(1)
			return quotatest.Refuse
		}}
		d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
		notified := make(answers, 100)
		d.Ledger = quota.New(quota.Options{
			Store: store, Lister: d, Listener: notified, Now: time.Now, Leader: new(shardingtest.Leader(true)), Inspector: d,
		})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Start(ctx) }()
		synctest.Wait()

		one := claim("one", "m", 0, 3, 1)
		d.ask(one, quota.Waiting)
		if id := <-notified; id != of("one") {
			t.Errorf("%+v is notified", id)
		}
		synctest.Wait() // the watch can report the write before its reply has come
		d.ask(one, quota.Granted)

		// The hub is unreachable for a while: the claim is retried automatically with growing pauses, without another request.
		away.Store(true)
		two := claim("two", "m", 0, 2, 1)
		d.ask(two, quota.Waiting)
		<-time.After(10 * time.Minute) // on the clock of this test
		// After 0.25, 0.5, 1, 2, 4 and 8 s, and then every 10 s.
		if n := tries.Load(); n != 65 {
			t.Errorf("%d tries in ten minutes", n)
		}
		d.ask(two, quota.Unavailable)
		away.Store(false)
		<-time.After(time.Minute) // on the clock of this test
		synctest.Wait()
		d.ask(two, quota.Granted)

		// Neither is in a cache, and the leader detects that.
		<-time.After(13 * time.Minute) // on the clock of this test
		synctest.Wait()
		if left := store.Entries(); len(left) != 0 {
			t.Errorf("entries of deleted groups: %+v", left)
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestAMemberThatTakesItsTimeToAnswerHoldsNobodyUp: claims of all members are answered during requests to it about groups that it does not
// have.
func TestAMemberThatTakesItsTimeToAnswerHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &quotatest.Store{}
		d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 500))
		asked, patience := make(chan string, 1000), map[string]*atomic.Int64{"m": {}, "other": {}}
		patience["m"].Store(int64(19 * time.Second))
		d.Ledger = quota.New(quota.Options{
			Store: store, Lister: d, Listener: make(answers, 1000), Now: time.Now, Leader: new(shardingtest.Leader(true)),
			Inspector: slowMembers{asked, patience},
		})
		for i := range 60 {
			d.grant(claim(types.UID(fmt.Sprintf("m-%d", i)), "m", 0, 1, 1))
		}
		d.grant(claim("gone", "other", 0, 1, 1))
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Start(ctx) }()
		for <-asked != "m" {
		}
		began := time.Now()
		one := claim("one", "m", 0, 1, 1)
		d.ask(one, quota.Waiting)
		synctest.Wait()
		d.ask(one, quota.Granted)
		if took := time.Since(began); took > 0 {
			t.Errorf("a claim had to wait for %s", took)
		}
		d.mu.Lock()
		d.groups = []quota.Group{group("one", "m", 1)}
		d.mu.Unlock()
		<-time.After(25 * time.Second) // on the clock of this test
		if entries := store.Entries(); len(entries) < 60 || entries[quota.Key{Member: "other", UID: "gone"}].Usage.VMs != 0 {
			t.Errorf("%d entries are left; want those of the member that does not answer", len(entries))
		}
		// It is only slow: over time all are found.
		patience["m"].Store(int64(300 * time.Millisecond))
		<-time.After(5 * time.Minute) // on the clock of this test
		if left := store.Entries(); len(left) != 1 {
			t.Errorf("%d entries are left of a member that answers slowly", len(left)-1)
		}
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
