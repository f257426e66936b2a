package quota

import (
	"maps"
	"slices"
	"time"
)

// Budget bounds what is written of ledgers for each member. A ledger is written whole, whatever changes in it.
type Budget interface {
	// Ask returns zero if the ledger of a total may be written for a member now, of which it pays so many bytes. Otherwise it returns when to ask again.
	Ask(member, key string, bytes int) time.Duration
	// Withdraw drops what was asked for, and is not needed any more.
	Withdraw(member, key string)
	// Settle notes what a member paid for, of what was asked.
	Settle(member string, asked, wrote int)
}

const (
	// entryBytes is about what an entry takes that was not encoded yet, and ledgerBytes what a ledger takes besides its entries.
	entryBytes, ledgerBytes = 160, 1 << 10
)

// bytes is about what the ledger takes as it is stored.
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

// payers are the members for which something waits here.
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

// paid is what members pay for one write of a ledger: what each asked for, which is nothing for those that only go along.
type paid map[string]int

// mayWrite reports whether a ledger may be written for one of the members for which something waits. What waits for the others goes along, so that a member
// that has used up its budget delays no other. If all have, the ledger is looked at again once one of them may.
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

// pay has those pay that a ledger was written for.
func (l *Ledger) pay(p paid, wrote int) {
	for member, asked := range p {
		l.opts.Budget.Settle(member, asked, wrote/len(p))
	}
}

// lookAgain has a ledger looked at after some time, unless that is so earlier.
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

// delay is for how long the budget of a member has a ledger wait.
func (b *book) delay(member string, now time.Time) time.Duration {
	return max(0, b.delays[member].Sub(now))
}
