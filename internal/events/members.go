package events

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientevents "k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/seldom"
)

// contradictionInterval is the minimum time between two events of [Members.Contradict] with one member and one reason: an API
// server can report false data at any rate.
const contradictionInterval = 10 * time.Minute

// Members writes events of MemberClusters. It writes no event of a MemberCluster that does not exist. It is safe for
// concurrent use.
type Members struct {
	hub            client.Reader
	recorder       clientevents.EventRecorder
	now            func() time.Time
	contradictions seldom.Told[contradiction]
}

type contradiction struct{ member, reason string }

// NewMembers returns a Members that reads MemberClusters from the hub's cache. recorder must not block.
func NewMembers(hub client.Reader, recorder clientevents.EventRecorder, now func() time.Time) *Members {
	return &Members{hub: hub, recorder: recorder, now: now}
}

// Note writes an event of type Normal.
func (m *Members) Note(ctx context.Context, member, reason, action, note string) {
	m.write(ctx, member, corev1.EventTypeNormal, reason, action, note)
}

// Warn writes an event of type Warning.
func (m *Members) Warn(ctx context.Context, member, reason, action, note string) {
	m.write(ctx, member, corev1.EventTypeWarning, reason, action, note)
}

// Contradict warns of contradictory data from the member's API server. It writes one event in ten minutes for each member and
// reason, with the number of omitted ones.
func (m *Members) Contradict(ctx context.Context, member, reason, note string) {
	more, write := m.contradictions.Next(contradiction{member, reason}, m.now(), contradictionInterval)
	if !write {
		return
	}
	if more > 0 {
		note += fmt.Sprintf(" Found again since the last such event: %d.", more)
	}
	m.Warn(ctx, member, reason, "Look", note)
}

func (m *Members) write(ctx context.Context, member, eventType, reason, action, note string) {
	of := &v1alpha1.MemberCluster{}
	if err := m.hub.Get(ctx, client.ObjectKey{Name: member}, of); err != nil {
		return // it was deleted meanwhile
	}
	m.recorder.Eventf(of, nil, eventType, reason, action, "%s", note)
}
