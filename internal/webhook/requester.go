package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

const namespaceLook = 10 * time.Millisecond

var errNamespaceUnknown = errors.New("the operator does not know the namespace yet; try again in a few seconds")

// patient is a Knowledge that waits for members and namespaces that are not known yet. A group often comes in the same file as its
// namespace, and can arrive before the namespace. A review without the namespace's labels would apply other policies than the
// member's own. Likewise, a member calls as soon as the leader has installed its webhook, possibly while this replica still connects
// to the member.
type patient struct {
	Knowledge
	patience time.Duration
}

// Requester returns the requester. It waits for an unknown member or namespace. Every known namespace has at least the label of its
// name, which API servers set on all. While it waits, other requests of the member use its turn.
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
