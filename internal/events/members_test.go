package events

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hubOf is a hub with one MemberCluster.
type hubOf struct {
	client.Reader
	member string
}

func (h hubOf) Get(_ context.Context, key client.ObjectKey, of client.Object, _ ...client.GetOption) error {
	if key.Name != h.member {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "memberclusters"}, key.Name)
	}
	of.SetName(key.Name)
	return nil
}

// lines are events, each in one line.
type lines []string

func (l *lines) Eventf(of, _ runtime.Object, eventType, reason, action, note string, args ...any) {
	*l = append(*l, fmt.Sprintf("%s %s %s %s: ", of.(client.Object).GetName(), eventType, reason, action)+fmt.Sprintf(note, args...))
}

func TestAContradictionOfAMemberIsOneEventInTenMinutesWithTheNumberOfThoseLeftOut(t *testing.T) {
	got, c := &lines{}, &clock{time.Date(2026, 11, 27, 3, 0, 0, 0, time.UTC)}
	members := NewMembers(hubOf{member: "a"}, got, func() time.Time { return c.now })
	members.Contradict(t.Context(), "a", "Foreign", "one.")
	members.Contradict(t.Context(), "a", "Shared", "two.")
	for range 2 {
		c.now = c.now.Add(4 * time.Minute)
		members.Contradict(t.Context(), "a", "Foreign", "left out.")
	}
	c.now = c.now.Add(2 * time.Minute)
	members.Contradict(t.Context(), "a", "Foreign", "100% three.")
	members.Contradict(t.Context(), "unknown", "Foreign", "four.")
	members.Note(t.Context(), "a", "Released", "Release", "five.")
	want := lines{
		"a Warning Foreign Look: one.", "a Warning Shared Look: two.",
		"a Warning Foreign Look: 100% three. Found again since the last such event: 2.", "a Normal Released Release: five.",
	}
	if !slices.Equal(*got, want) {
		t.Errorf("events are %q, want %q", *got, want)
	}
}
