package vmgroup

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// sweep is what was last seen of a CRD that is being deleted.
type sweep struct {
	answer group.DefinitionAnswer
	at     time.Time
}

// lookAtDefinition looks whether the CRD of a group that is deleted is being deleted itself. It is deleted before its groups are, so one
// that stays after the group's deletion was seen did not cause it: that holds for good, and costs one call. One that goes is looked
// at again after a while, once for all groups of the member.
func (p *pass) lookAtDefinition(ctx context.Context, s *group.Snapshot) *group.DefinitionAnswer {
	if p.member.Definition == nil || p.r.memory.of(p.object(s)).definitionStays {
		return &group.DefinitionAnswer{}
	}
	if last, ok := p.r.memory.swept(p.member.UID); ok && p.now.Sub(last.at) < group.DefinitionInterval {
		return &last.answer
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	definition, err := p.member.Definition(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return &group.DefinitionAnswer{} // roles of before: nothing is concluded
	case err != nil:
		log.FromContext(ctx).Info("The group's CRD could not be looked at", "reason", said(err))
		return &group.DefinitionAnswer{Unread: true}
	case definition == nil:
		answer := group.DefinitionAnswer{Going: true}
		p.r.memory.sweep(p.member.UID, sweep{answer, p.now})
		return &answer
	case definition.GetDeletionTimestamp().IsZero():
		p.r.memory.change(p.object(s), func(m *remembered) { m.definitionStays = true })
		return &group.DefinitionAnswer{}
	}
	answer := group.DefinitionAnswer{Going: true, Definition: definition}
	p.r.memory.sweep(p.member.UID, sweep{answer, p.now})
	return &answer
}
