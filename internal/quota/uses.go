package quota

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Uses returns from memory the quotas that count the groups of a requester, and what counts in them, in the order of the policies. It is empty while the
// policies are not known.
func (l *Ledger) Uses(ctx context.Context, r policy.Requester) []policy.Use {
	set, ok := l.opts.Lister.Policies(ctx)
	if !ok {
		return nil
	}
	quotas := set.Quotas(r)
	uses := make([]policy.Use, len(quotas))
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range quotas {
		uses[i].Policy = p
		key := keyOf(p, r)
		switch b := l.books[key]; {
		case !l.head.known || b != nil && (b.failure != "" || b.read && !b.known):
		case b == nil: // no group of the total has claimed anything
			uses[i].Used = &policy.Usage{}
		default:
			uses[i].Used = new(b.totals[key])
		}
	}
	return uses
}
