package effect

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// Definitions reads the metadata of the VmGroup CRD of a member. It returns nil if there is none.
type Definitions interface {
	Definition(ctx context.Context, member string) (metav1.Object, error)
}

// DefinitionSeen is the last answer about the CRD of a member.
type DefinitionSeen struct {
	Answer group.DefinitionAnswer
	// Asked is the time of the question.
	Asked time.Time
}

// serves reports whether the answer is valid for a group whose deletion was seen at this time. A CRD gets its
// deletionTimestamp before its groups do, and can exist again before the next group is deleted. So an older answer does not
// explain the deletion.
func (d DefinitionSeen) serves(deletionSeen, now time.Time) bool {
	return now.Sub(d.Asked) < group.DefinitionInterval && !d.Asked.Before(deletionSeen)
}

// readDefinition reads the CRD of a group that is being deleted. One answer serves all groups of the member for a while.
type readDefinition struct {
	definitions Definitions
	now         func() time.Time
}

// Do implements Effect.
func (r readDefinition) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	s.Definition = r.read(ctx, p)
	return Outcome{}, nil
}

func (r readDefinition) read(ctx context.Context, p *Pass) *group.DefinitionAnswer {
	if r.definitions == nil {
		return &group.DefinitionAnswer{}
	}
	now := r.now() // later than the read of the group
	seen := p.Memory.DeletionSeen(now)
	if last, ok := p.Memory.Definition(); ok && last.serves(seen, now) {
		return &last.Answer
	}
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	answer := group.DefinitionAnswer{}
	switch definition, err := r.definitions.Definition(ctx, p.Member.Name); {
	case apierrors.IsForbidden(err): // nothing is known, and status alone decides
	case err != nil:
		logFailure(ctx, err, "The CRD of the group was not read")
		return &group.DefinitionAnswer{Unread: true}
	case definition == nil:
		answer.Missing = true
	default:
		answer.Definition = definition
	}
	p.Memory.SeeDefinition(DefinitionSeen{answer, now})
	return &answer
}
