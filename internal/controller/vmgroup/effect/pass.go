package effect

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/groupmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// Pass is the shared state of the effects of one pass: one group, its member and its vCenter.
type Pass struct {
	Member fleet.Member
	// Server is the vCenter that the group was observed with, or nil. A decision must not be carried out with another vCenter,
	// to which the same name can lead by now.
	Server vsphere.Server
	// Cache and Live read the cache and the API server of the member.
	Cache, Live client.Reader
	// Store keeps the group, and Events its events.
	Store  Store
	Events events.EventRecorder
	// Memory is this process's state of the group.
	Memory Memory
	// Managers are the field managers of the spec, for the audit.
	Managers Managers
	// Metrics count what the pass does. It can be nil.
	Metrics *groupmetrics.Passes
	// Now is the time of the pass.
	Now time.Time
}

// Memory is this process's state of one group, and of its member. It does not outlive the process.
type Memory interface {
	// Wrote stores the version of the group after a write that the API server accepted.
	Wrote(resourceVersion string)
	// WroteStatus is Wrote after a write of status at this time.
	WroteStatus(resourceVersion string, at time.Time)
	// Claim stores the claim of the VMs of another group.
	Claim(Claim)
	// RecordPace is how often the record of the group is written.
	RecordPace() RecordPace
	SetRecordPace(RecordPace)
	// DeletionSeen returns when this process first saw the deletion of the group: now, if it did not before.
	DeletionSeen(now time.Time) time.Time
	// Definition is the last answer about the CRD of the member, if there is one.
	Definition() (DefinitionSeen, bool)
	SeeDefinition(DefinitionSeen)
	// Raised is the last raise of the generation because of a group of the member.
	Raised() group.Raise
	Raise(group.Raise)
}

// writeStatus stores the status of a decision, if there is one, with an optimistic lock: a controller that was overtaken, or
// decided on an old object, fails here, before it asks vCenter for anything.
func (p *Pass) writeStatus(ctx context.Context, s *group.Snapshot, d group.Decision) error {
	if d.Status == nil {
		return nil
	}
	next := s.Group.DeepCopy()
	next.Status = *d.Status
	if err := p.Store.WriteStatus(ctx, s.Group, next); err != nil {
		return err
	}
	p.Memory.WroteStatus(next.ResourceVersion, p.Now)
	p.Metrics.Written(s.VCenter, s.ID.Key(), &next.Status, p.Now)
	s.Group, s.Written = next, true
	p.emit(ctx, s, d.Events)
	return nil
}

// patchFinalizers changes the finalizers of the group.
func (p *Pass) patchFinalizers(ctx context.Context, s *group.Snapshot, change Change, finalizer string) (err error) {
	if s.Group, err = p.Store.PatchFinalizers(ctx, s.Group, change, finalizer); err == nil {
		s.Written = true
	}
	return err
}

// emit writes the events of a decision.
func (p *Pass) emit(ctx context.Context, s *group.Snapshot, events []group.Event) {
	for _, e := range events {
		if values := []any{"vcenter", s.VCenter, "reason", e.Reason}; e.Type == corev1.EventTypeWarning && !e.Handled {
			log.FromContext(ctx).Error(errors.New(e.Note), "Group changed", values...)
		} else {
			log.FromContext(ctx).Info("Group changed", append(values, "message", e.Note)...)
		}
		p.Events.Eventf(s.Group, nil, e.Type, e.Reason, e.Action, "%s", e.Note)
	}
}

// turn is the place of the group among those that wait for a write on the hub.
func turn(s *group.Snapshot) writebudget.Turn {
	return writebudget.Turn{Namespace: s.Group.Namespace, ID: string(s.Group.UID)}
}
