package quota

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// requestTimeout bounds one request to the hub.
	requestTimeout = 5 * time.Second
	// conflicts is how often in a row another replica may be first before the claims wait for a moment.
	conflicts = 10
	// collectInterval is how often the leader looks for entries of groups that are gone; an entry is one when its group
	// was missing for absentFor. Clones may be running for a group with VMs that lost its finalizer, started by another replica, and vCenter
	// shows no VM before they end. No clone is waited for longer than ten minutes.
	collectInterval, absentFor, lingering = 30 * time.Second, time.Minute, 11 * time.Minute
)

// retry is the pause after a failure.
var retry = wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Cap: 10 * time.Second, Steps: math.MaxInt}

// batch is what one write is to do.
type batch struct {
	claims []Claim
	lowers map[Key]giveBack
}

// Start implements manager.Runnable: it watches the ledger, and writes what was claimed, until ctx ends.
func (l *Ledger) Start(ctx context.Context) error {
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { l.opts.Store.Watch(ctx, l.Observe) })
	collect := time.NewTicker(collectInterval)
	defer collect.Stop()
	l.signal() // the first round reads the ledger
	for pause := retry; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-collect.C:
			l.Collect(ctx)
			continue
		case <-l.wake:
		}
		if err := l.round(ctx); err == nil {
			pause = retry
			continue
		}
		if !sleep(ctx, pause.Step()) {
			return nil
		}
		l.signal()
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Flush answers everything that waits now, as [Ledger.Start] does when something comes.
func (l *Ledger) Flush(ctx context.Context) error { return l.round(ctx) }

// round answers everything that waits, with one write if one is needed. After an error all of it waits still.
func (l *Ledger) round(ctx context.Context) error {
	b := l.nextBatch()
	err := l.carryOut(ctx, b)
	if err == nil {
		return nil
	}
	log.FromContext(ctx).Info("The ledger of quotas cannot be written; nothing that a quota holds for grows", "claims", len(b.claims), "reason", err.Error())
	l.mu.Lock()
	l.known = false // nobody knows what became of the write
	l.failure = "The ledger of quotas on the hub cannot be written: " + err.Error()
	clear(l.flying)
	notify := make([]Key, 0, len(b.claims))
	again := b.claims[:len(b.claims):len(b.claims)]
	newer := map[Key]bool{}
	for _, c := range l.claims {
		newer[c.Key()] = true
	}
	l.claims, again = nil, append(again, l.claims...)
	for i, c := range again {
		if i < len(b.claims) {
			notify = append(notify, c.Key())
			if newer[c.Key()] {
				continue
			}
		}
		l.claims = append(l.claims, c)
	}
	for id, g := range b.lowers {
		if _, ok := l.lowers[id]; !ok && !newer[id] {
			l.lowers[id] = g
		}
	}
	l.mu.Unlock()
	l.tell(notify)
	return err
}

// nextBatch takes everything that waits.
func (l *Ledger) nextBatch() batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := batch{claims: l.claims, lowers: l.lowers}
	l.claims, l.lowers = nil, map[Key]giveBack{}
	for id, g := range b.lowers {
		l.flying[id] = g.to
	}
	for _, c := range b.claims {
		l.flying[c.Key()] = c.Wants
	}
	return b
}

func (l *Ledger) carryOut(ctx context.Context, b batch) error {
	for range conflicts {
		current, err := l.current(ctx)
		if err != nil {
			return err
		}
		if len(b.claims) == 0 && len(b.lowers) == 0 {
			l.mu.Lock()
			notify := drained(l.unsure)
			l.mu.Unlock()
			l.tell(notify)
			return nil
		}
		f, groups, err := l.survey(ctx)
		if err != nil {
			return err
		}
		d, answers := decide(current, f, groups, b, true)
		version, err := l.write(ctx, d, current.Version)
		if errors.Is(err, ErrFull) {
			// What shrinks or was entered before still fits.
			full := err
			d, answers = decide(current, f, groups, b, false)
			for id := range answers {
				answers[id] = Answer{Outcome: Unavailable, Problem: full.Error()}
			}
			version, err = l.write(ctx, d, current.Version)
		}
		switch {
		case errors.Is(err, ErrConflict):
			l.mu.Lock()
			l.known = false
			l.mu.Unlock()
		case err != nil:
			return err
		default:
			l.settle(d, version, b, answers)
			return nil
		}
	}
	return fmt.Errorf("%w, %d times in a row", ErrConflict, conflicts)
}

// current returns what is stored, from memory if that is what was written or read last.
func (l *Ledger) current(ctx context.Context) (Stored, error) {
	l.mu.Lock()
	s, known := l.stored, l.known
	l.mu.Unlock()
	if known {
		return s, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	s, err := l.opts.Store.Read(ctx)
	if err != nil {
		return Stored{}, err
	}
	if s.Err != nil {
		return Stored{}, s.Err
	}
	l.mu.Lock()
	var notify []Key
	if !l.overtaken(s.Seen) {
		notify = l.learn(s)
	}
	s = l.stored
	l.mu.Unlock()
	l.tell(notify)
	return s, nil
}

// survey looks at all groups that are known, so that none is forgotten in what is granted.
func (l *Ledger) survey(ctx context.Context) (facts, []Group, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		return facts{}, nil, errors.New("the VmGroupPolicies on the hub have not been read yet")
	}
	members, err := l.opts.Lister.Members(ctx)
	if err != nil {
		return facts{}, nil, fmt.Errorf("read the MemberClusters on the hub: %w", err)
	}
	served := map[string]bool{}
	for _, member := range members {
		served[member] = l.opts.Lister.Served(member)
	}
	groups, err := l.opts.Lister.Groups(ctx)
	if err != nil {
		return facts{}, nil, fmt.Errorf("list the groups of all members: %w", err)
	}
	for _, member := range members {
		// One that came or went meanwhile may have its groups in the list, or not.
		served[member] = served[member] && l.opts.Lister.Served(member)
	}
	return facts{set: set, members: members, served: func(member string) bool { return served[member] }}, groups, nil
}

// decide is what a write does. It is pure. Without claims only what gives back and what is missing is written.
func decide(current Stored, f facts, groups []Group, b batch, claims bool) (*draft, map[Key]Answer) {
	d := newDraft(current.State, totals(current.State), f)
	for id, g := range b.lowers {
		d.lower(id, g)
	}
	d.totals = totals(d.state) // sums that were too large for a number cannot be taken from
	answers := make(map[Key]Answer, len(b.claims))
	if claims {
		d.countAll(groups, b.lowers)
		d.mark()
	}
	for _, growing := range []bool{false, true} { // what is there comes before what is to come
		for _, c := range b.claims {
			switch {
			case c.grows() != growing:
			case claims:
				answers[c.Key()] = d.claim(c)
			default:
				answers[c.Key()] = Answer{}
			}
		}
	}
	return d, answers
}

func (l *Ledger) write(ctx context.Context, d *draft, version string) (string, error) {
	if !d.changed {
		return version, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	writes.Inc()
	return l.opts.Store.Write(ctx, d.state, version)
}

// settle makes a write known and tells those that it answers.
func (l *Ledger) settle(d *draft, version string, b batch, answers map[Key]Answer) {
	l.mu.Lock()
	var notify []Key
	if d.changed && !l.overtaken(version) {
		was := l.stored.State.Entries
		notify = l.take(Stored{State: d.state, Version: version, Seen: version})
		for _, id := range changed(was, d.state.Entries) {
			if _, asked := l.flying[id]; !asked { // it was counted
				notify = append(notify, id)
			}
		}
	}
	clear(l.flying)
	notify = append(notify, drained(l.unsure)...)
	told := map[Key]bool{}
	for _, id := range notify {
		told[id] = true
	}
	for _, c := range b.claims {
		answer := answers[c.Key()]
		delete(l.problems, c.Key())
		delete(l.foreign, c.Key())
		if answer.Outcome == Unavailable {
			l.problems[c.Key()] = problem{words: answer.Problem, since: l.opts.Now()}
		}
		// A claim that does not grow enters what the group holds. What was entered before, by an old cache, may be more.
		if !told[c.Key()] && (c.grows() || !c.Holds.Covers(d.state.Entries[c.Key()].Usage)) {
			notify = append(notify, c.Key())
		}
	}
	l.mu.Unlock()
	l.tell(notify)
}

// Collect removes, on the leader, the entries of groups that do not exist any more. A group is gone only if a member that
// is served has not had it for a while, and says so when it is asked, and if no VM of it is left. A member without a MemberCluster has none.
//
// On every replica it has the ledger read afresh when the watch stays behind what is known.
func (l *Ledger) Collect(ctx context.Context) {
	l.mu.Lock()
	if !l.behind.IsZero() && l.opts.Now().Sub(l.behind) >= catchesUp {
		l.known, l.behind = false, time.Time{}
		l.signal()
	}
	l.mu.Unlock()
	if l.opts.Leading == nil || !l.opts.Leading() {
		return
	}
	f, groups, err := l.survey(ctx)
	if err != nil {
		return
	}
	exist := make(map[Key]bool, len(groups))
	for _, g := range groups {
		exist[g.Key()] = true
	}
	members := map[string]bool{}
	for _, m := range f.members {
		members[m] = true
	}
	l.mu.Lock()
	entries := l.stored.State.Entries
	l.mu.Unlock()
	now, missing, silent := l.opts.Now(), map[Key]time.Time{}, map[string]bool{}
	for id, e := range entries {
		if exist[id] || members[id.Member] && !f.served(id.Member) {
			continue
		}
		since, ok := l.absent[id]
		if !ok {
			since = now
		}
		missing[id] = since
		patience := absentFor
		if e.Usage.VMs > 0 && members[id.Member] {
			patience = lingering
		}
		if now.Sub(since) < patience {
			continue
		}
		if members[id.Member] {
			if silent[id.Member] {
				continue // claims wait meanwhile: one question without an answer is enough
			}
			absent, err := l.opts.Absent(ctx, id, e.Namespace, e.Name)
			silent[id.Member] = err != nil
			if err != nil || !absent {
				continue
			}
		}
		l.mu.Lock()
		l.lower(id, giveBack{gone: true})
		l.mu.Unlock()
	}
	l.absent = missing
}
