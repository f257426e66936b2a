package quota

import (
	"maps"
	"slices"
	"time"
)

// Budget limits the writes of ledgers for each member. Each change writes the whole ledger.
type Budget interface {
	// Ask returns zero if the ledger of a total can be written for a member now; the member pays this number of bytes. Otherwise it returns the time
	// to wait before the next Ask.
	Ask(member, key string, bytes int) time.Duration
	// Withdraw drops a request that is no longer needed.
	Withdraw(member, key string)
	// Settle records the bytes that a member paid for, out of those that it asked for.
	Settle(member string, asked, wrote int)
}

const (
	// entryBytes is the approximate size of an entry that was not encoded yet. ledgerBytes is that of a ledger without its entries.
	entryBytes, ledgerBytes = 160, 1 << 10
)

// bytes returns the approximate size of the stored ledger.
func (s *State) bytes() int {
	n := ledgerBytes
	for _, p := range s.parts {
		if p == nil {
			continue
		}
		if stored := p.stored.Load(); stored != nil {
			n += len(*stored)
		} else {
			n += len(p.entries) * entryBytes
		}
	}
	return n
}

// payers returns the members with work that waits here.
func (b *book) payers() []string {
	of := map[string]struct{}{}
	for _, c := range b.claims {
		of[c.Requester.Member] = struct{}{}
	}
	for id := range b.lowers {
		of[id.Member] = struct{}{}
	}
	return slices.Sorted(maps.Keys(of))
}

// paid has the bytes that members pay for one write of a ledger. A member whose work is only included pays 0.
type paid map[string]int

// mayWrite reports whether a ledger can be written for one of the members with waiting work. The write includes the work of the others, so that a
// member that has used up its budget delays no other. If all have used up their budgets, the ledger is checked again once one of them can pay.
func (l *Ledger) mayWrite(b *book) (paid, bool) {
	payers := b.payers()
	if l.opts.Budget == nil || len(payers) == 0 {
		return nil, true
	}
	share, may := b.stored.State.bytes()/len(payers), paid{}
	var least time.Duration
	for _, member := range payers {
		wait := l.opts.Budget.Ask(member, b.key, share)
		if wait == 0 {
			may[member] = share
		} else if b.delays[member] = l.opts.Now().Add(wait); least == 0 || wait < least {
			least = wait
		}
	}
	if len(may) == 0 {
		l.lookAgain(b, least)
		return nil, false
	}
	for _, member := range payers {
		if _, asked := may[member]; !asked {
			l.opts.Budget.Withdraw(member, b.key)
			may[member] = 0
		}
	}
	clear(b.delays)
	return may, true
}

// pay charges the members that a ledger was written for.
func (l *Ledger) pay(p paid, wrote int) {
	for member, asked := range p {
		l.opts.Budget.Settle(member, asked, wrote/len(p))
	}
}

// lookAgain schedules a check of a ledger after some time, unless an earlier one is scheduled.
func (l *Ledger) lookAgain(b *book, after time.Duration) {
	at := l.opts.Now().Add(after)
	if !b.wakes.IsZero() && !at.Before(b.wakes) {
		return
	}
	b.wakes = at
	time.AfterFunc(after, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		b.wakes = time.Time{}
		b.want()
		l.signal()
	})
}

// delay returns how long the budget of a member delays a ledger.
func (b *book) delay(member string, now time.Time) time.Duration {
	return max(0, b.delays[member].Sub(now))
}
