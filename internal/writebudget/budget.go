package writebudget

import (
	"sync"
	"time"
)

// Limits are those of one member on one replica, in bytes: by the second, and at once.
type Limits struct{ Rate, Burst int }

// Default are the limits of the product. What three replicas write for one member within ten minutes, which is as long as etcd keeps what was overwritten, is
// 127 MiB at most. 20,000 groups that get their first record at once need about 7 MiB.
var Default = Limits{Rate: 64 << 10, Burst: 4 << 20}

// Kind is of what is written.
type Kind string

// The kinds.
const (
	// Record is what was admitted to a group.
	Record Kind = "record"
	// Ledger is that of a total of quotas.
	Ledger Kind = "ledger"
	// Receipt is that of VMs whose group let them go.
	Receipt Kind = "receipt"
	// Event is one on the hub.
	Event Kind = "event"
)

// EventBytes is about the size of an event.
const EventBytes = 2 << 10

// Budget has those of all members, which are known by the UID of their cluster. It is safe for concurrent use.
type Budget struct {
	limits Limits
	now    func() time.Time

	mu       sync.Mutex
	accounts map[string]*account
	// names of members by UID, and UIDs by name.
	names, uids map[string]string
}

// New returns a budget of which nothing was spent. now is the clock.
func New(limits Limits, now func() time.Time) *Budget {
	return &Budget{limits: limits, now: now, accounts: map[string]*account{}, names: map[string]string{}, uids: map[string]string{}}
}

// Meet makes a member known by the name of its MemberCluster, too.
func (b *Budget) Meet(uid, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.names[uid]; old != name || b.uids[name] != uid {
		if b.uids[old] == uid { // and not another member that has the name now
			delete(b.uids, old)
		}
		b.names[uid], b.uids[name] = name, uid
	}
}

// UID is that of the member of a name. One that is not known has the name for its UID.
func (b *Budget) UID(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if uid, known := b.uids[name]; known {
		return uid
	}
	return name
}

// Ask returns zero if a write of about so many bytes may be done now, and takes them off the budget. Otherwise it returns when to ask again. A write
// that was allowed has to be settled. Who does not ask again for a minute does not wait any more.
func (b *Budget) Ask(member string, turn Turn, bytes int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	wait, waited := b.account(member).ask(b.now(), turn, bytes)
	if waited > 0 {
		waits.WithLabelValues(b.name(member)).Add(waited.Seconds())
	}
	return wait
}

// Withdraw drops a write that was asked for and is not to be done.
func (b *Budget) Withdraw(member string, turn Turn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.account(member).withdraw(b.now(), turn)
}

// Settle notes what was written of what was asked for. More is taken off the budget, and less is given back.
func (b *Budget) Settle(member string, kind Kind, asked, wrote int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.account(member).charge(b.now(), wrote-asked)
	written.WithLabelValues(string(kind)).Add(float64(wrote))
}

// Spend notes a write that could not wait.
func (b *Budget) Spend(member string, kind Kind, wrote int) { b.Settle(member, kind, 0, wrote) }

// Afford spends bytes on what may as well not be written, and reports whether it may: while others wait, it may not.
func (b *Budget) Afford(member string, kind Kind, bytes int) bool {
	b.mu.Lock()
	idle := b.account(member).idle(b.now())
	b.mu.Unlock()
	if idle {
		b.Spend(member, kind, bytes)
	}
	return idle
}

// account needs the lock, and so does name.
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
