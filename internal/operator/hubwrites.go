package operator

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// ledgerBudget is the budget of writes on the hub for quota ledgers, which identify members by name.
type ledgerBudget struct{ *writebudget.Budget }

// turn returns the key with which a ledger takes its turn among the namespaces of a member. No namespace has
// such a name.
func (ledgerBudget) turn(key string) writebudget.Turn {
	return writebudget.Turn{Namespace: "the ledgers of quotas", ID: key}
}

// Ask implements quota.Budget.
func (b ledgerBudget) Ask(member, key string, bytes int) time.Duration {
	return b.Budget.Ask(b.UID(member), b.turn(key), bytes)
}

// Withdraw implements quota.Budget.
func (b ledgerBudget) Withdraw(member, key string) { b.Budget.Withdraw(b.UID(member), b.turn(key)) }

// Settle implements quota.Budget.
func (b ledgerBudget) Settle(member string, asked, wrote int) {
	b.Budget.Settle(b.UID(member), writebudget.Ledger, asked, wrote)
}
