package writebudget

import (
	"sync"
	"time"
)

// Limits apply to one member on one replica, in bytes: Rate per second, and Burst at once.
type Limits struct{ Rate, Burst int }

// Default are the limits of the product. Within ten minutes, three replicas write at most 127 MiB for one member. etcd keeps overwritten versions for that
// time. 20,000 groups that get their first record at once need about 7 MiB.
var Default = Limits{Rate: 64 << 10, Burst: 4 << 20}

// Kind is the kind of a written object.
type Kind string

// The kinds.
const (
	// Record contains the admitted state of a group.
	Record Kind = "record"
	// Ledger contains a total of quotas.
	Ledger Kind = "ledger"
	// Receipt contains the VMs that a deleted group keeps.
	Receipt Kind = "receipt"
	// Event is an event on the hub.
	Event Kind = "event"
)

// EventBytes is the approximate size of an event.
const EventBytes = 2 << 10

// Budget contains the budgets of all members, by the UID of their cluster. It is safe for concurrent use.
type Budget struct {
	limits Limits
	now    func() time.Time

	mu       sync.Mutex
	accounts map[string]*account
	// names maps UIDs of members to names, and uids maps names to UIDs.
	names, uids map[string]string
}

// New returns an unused budget. now is the clock.
func New(limits Limits, now func() time.Time) *Budget {
	return &Budget{limits: limits, now: now, accounts: map[string]*account{}, names: map[string]string{}, uids: map[string]string{}}
}

// Meet links the UID of a member to the name of its MemberCluster.
func (b *Budget) Meet(uid, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.names[uid]; old != name || b.uids[name] != uid {
		if b.uids[old] == uid { // another member can have the old name now
			delete(b.uids, old)
		}
		b.names[uid], b.uids[name] = name, uid
	}
}

// UID returns the UID of the member with that name, or the name if the member is unknown.
func (b *Budget) UID(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if uid, known := b.uids[name]; known {
		return uid
	}
	return name
}

// Ask returns zero if a write of about so many bytes can start now, and subtracts the bytes from the budget. Otherwise it returns the time until the next
// question. An allowed write must be settled. A write without a question for a minute loses its place.
func (b *Budget) Ask(member string, turn Turn, bytes int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait, waited := b.account(member).ask(b.now(), turn, bytes)
	if waited > 0 {
		waits.WithLabelValues(b.name(member)).Add(waited.Seconds())
	}
	return wait
}

// Withdraw drops a write that asked and was canceled.
func (b *Budget) Withdraw(member string, turn Turn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.account(member).withdraw(b.now(), turn)
}

// Settle corrects the budget by the difference between the requested and the written bytes.
func (b *Budget) Settle(member string, kind Kind, asked, wrote int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.account(member).charge(b.now(), wrote-asked)
	written.WithLabelValues(string(kind)).Add(float64(wrote))
}

// Spend charges a write that could not wait.
func (b *Budget) Spend(member string, kind Kind, wrote int) { b.Settle(member, kind, 0, wrote) }

// Afford charges bytes for an optional write, and reports whether it is allowed. It is refused while other writes wait.
func (b *Budget) Afford(member string, kind Kind, bytes int) bool {
	b.mu.Lock()
	idle := b.account(member).idle(b.now())
	b.mu.Unlock()
	if idle {
		b.Spend(member, kind, bytes)
	}
	return idle
}

// account and name need the lock.
func (b *Budget) account(member string) *account {
	a := b.accounts[member]
	if a == nil {
		a = newAccount(b.limits)
		b.accounts[member] = a
	}
	return a
}

func (b *Budget) name(member string) string {
	if name, known := b.names[member]; known {
		return name
	}
	return member
}
