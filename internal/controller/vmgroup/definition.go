package vmgroup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// seenDefinition is the last answer about the CRD of a member, and when it was asked for.
type seenDefinition struct {
	answer group.DefinitionAnswer
	asked  time.Time
}

// serves reports whether the answer can be used again for a group whose deletion was seen then. A CRD gets its deletionTimestamp before its groups do, and can exist
// again before the next group is deleted: an answer from before that moment says nothing about the reason of the deletion.
func (d seenDefinition) serves(deletionSeen, now time.Time) bool {
	return now.Sub(d.asked) < group.DefinitionInterval && !d.asked.Before(deletionSeen)
}

// lookAtDefinition reads the CRD of a group that is being deleted. An answer serves all groups of the member for a while.
func (p *pass) lookAtDefinition(ctx context.Context, s *group.Snapshot) *group.DefinitionAnswer {
	if p.r.Definitions == nil {
		return &group.DefinitionAnswer{}
	}
	now := p.r.Now() // the group was read before
	seen := p.r.memory.deletionSeen(p.object(s), now)
	if last, ok := p.r.memory.definition(p.member.UID); ok && last.serves(seen, now) {
		return &last.answer
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	answer := group.DefinitionAnswer{}
	switch definition, err := p.r.Definitions.Definition(ctx, p.member.Name); {
	case apierrors.IsForbidden(err): // nothing is known, and status alone decides
	case err != nil:
		log.FromContext(ctx).Error(err, "Failed to read the CRD of the group")
		return &group.DefinitionAnswer{Unread: true}
	case definition == nil:
		answer.Missing = true
	default:
		answer.Definition = definition
	}
	p.r.memory.seeDefinition(p.member.UID, seenDefinition{answer, now})
	return &answer
}
