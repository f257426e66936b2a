package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

const namespaceLook = 10 * time.Millisecond

var errNamespaceUnknown = errors.New("the operator does not know the namespace yet; try again in a few seconds")

// patient is a Knowledge that waits for news. A group often comes in the same file as its namespace, and may be here before the news
// of that. To review it by the labels that are known, which are none, would be to review it by other policies than the member's
// own. In the same way a member calls as soon as the leader has told it to, when this replica may still be connecting to it.
type patient struct {
	Knowledge
	patience time.Duration
}

// Requester returns who asks. It waits for a member that is not known, and for a namespace: every one that is has at least the
// label of its name, which API servers give to all. While it waits, other requests of the member have its turn.
func (p patient) Requester(ctx context.Context, member, namespace string) (policy.Requester, error) {
	patience := time.NewTimer(p.patience)
	defer patience.Stop()
	look := time.NewTicker(namespaceLook)
	defer look.Stop()
	turn := callOf(ctx).turn
	for {
		requester, err := p.Knowledge.Requester(ctx, member, namespace)
		if err == nil && len(requester.NamespaceLabels) > 0 {
			return requester, turn.resume(ctx)
		}
		turn.rest()
		if err == nil {
			err = errNamespaceUnknown
		}
		select {
		case <-ctx.Done():
			return requester, err
		case <-patience.C:
			return requester, err
		case <-look.C:
		}
	}
}
