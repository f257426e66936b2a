package share

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

func TestClaimsThatCannotBeReadKeepWhatTheySaidLast(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 8})
	all := w.some(3)
	all[1].length = time.Hour
	all[1].wants("h", 5)
	w.run(5 * time.Second)
	all[1].dead, all[1].own[claimsKey] = true, "?" // hangs, and its published claims are malformed
	for _, o := range all {
		o.seen[all[1].session] = all[1].own
	}
	all[2].wants("h", 100)
	w.run(time.Minute)
	if all[1].held() != 5 || all[2].held() < 2 || all[2].held() > 3 {
		t.Errorf("%d and %d slots are held, want 5, and the 3 others", all[1].held(), all[2].held())
	}
}

func TestANewLeaderWaitsForAnswersOnlySoLong(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 8})
	all := w.some(3)
	all[1].length = time.Hour
	all[1].wants("h", 5)
	w.run(5 * time.Second)
	w.leader = ""
	w.replicas = w.replicas[:0:0]
	w.replicas = append(w.replicas, all[0], all[2]) // the second hangs, and is not fenced yet
	w.kill(all[0])
	delete(all[2].seen, all[0].session)
	w.lead(all[2])
	all[2].wants("h", 100)
	w.run(patience - time.Second)
	if all[2].held() > 1 {
		t.Errorf("%d slots are held before the others have answered", all[2].held())
	}
	w.run(3 * time.Second)
	if all[2].held() != 3 {
		t.Errorf("%d slots are held, want the 3 that the one that hangs does not use", all[2].held())
	}
}

func TestAnotherSessionBeginsWithOneSlot(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 8})
	all := w.some(2)
	all[1].length = time.Hour
	all[1].wants("h", 5)
	w.run(5 * time.Second)
	all[1].session = "another"
	all[1].Changed()
	w.settle()
	if u := all[1].budget.Usage(); u.Using != 5 || all[1].holders[vc].caps.Tasks != 1 {
		t.Errorf("%+v, caps %+v: want what is held, and no more than one", u, all[1].holders[vc].caps)
	}
}

func TestWithoutGrantsOneSlotIsLeftAfterAWhile(t *testing.T) {
	w := newWorld(t, 1, budget.Limits{Tasks: 8})
	all := w.some(2)
	all[1].wants("h", 1000)
	w.run(5 * time.Second)
	for _, r := range all {
		r.leader = "none"
		r.Changed()
	}
	w.run(keep - 2*time.Second)
	if got := all[1].held(); got != 8 {
		t.Errorf("%d slots are held at first, want 8", got)
	}
	w.run(2*time.Second + 2*all[1].length)
	if got := all[1].held(); got != 1 {
		t.Errorf("%d slots are held in the end, want 1", got)
	}
}

// bulletin is shared by coordinators that run concurrently. The first leads.
type bulletin struct {
	mu        sync.Mutex
	published []map[string]string
	all       []*Coordinator
}

type ownPublished struct {
	*bulletin
	index int
}

func (b ownPublished) Publish(key, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.published[b.index][key] == value {
		return
	}
	b.published[b.index][key] = value
	for _, c := range b.all {
		c.Changed()
	}
}

func (b ownPublished) Peers() []Peer {
	b.mu.Lock()
	defer b.mu.Unlock()
	peers := make([]Peer, 0, len(b.published))
	for i, published := range b.published {
		entries := map[string]string{}
		for k, v := range published {
			entries[k] = v
		}
		peers = append(peers, Peer{Session: fmt.Sprint(i), Self: i == b.index, Leader: i == 0, Published: entries})
	}
	return peers
}

func TestRunningAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		published := &bulletin{}
		var running sync.WaitGroup
		removes := make([]func(), 0, 3)
		wants := make([]chan string, 3)
		budgets := make([]*budget.Budget, 3)
		for i := range wants {
			wants[i] = make(chan string, 100)
			budgets[i] = budget.New(budget.Limits{Tasks: 8, TasksPerHost: 4}, notify(func(g string) { wants[i] <- g }))
			published.published = append(published.published, map[string]string{})
			published.all = append(published.all, New(ownPublished{published, i}, time.Now))
			removes = append(removes, published.all[i].Add(vc, budgets[i]))
		}
		for i, c := range published.all {
			running.Go(func() { c.Run(ctx) })
			running.Go(func() { work(ctx, budgets[i], wants[i], 20) })
		}
		<-time.After(10 * time.Minute) // virtual time
		for i, b := range budgets {
			if b.Demand() != 0 {
				t.Errorf("%d still has a demand of %d", i, b.Demand())
			}
			removes[i]()
		}
		cancel()
		running.Wait()
	})
}

// work runs n tasks of a second each.
func work(ctx context.Context, b *budget.Budget, told chan string, left int) {
	told <- "group"
	for left > 0 {
		select {
		case <-ctx.Done():
			return
		case group := <-told:
			slots := b.Acquire(group, "host", left)
			for range slots.Granted() {
				done := b.Start(group, "host")
				left--
				time.AfterFunc(time.Second, func() { done(true) })
			}
			slots.Release()
		}
	}
}
