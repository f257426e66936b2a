package hub

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

func codecClient() *Client {
	return &Client{options: Options{Namespace: "n", Now: func() time.Time { return time.Unix(1, 0) }}.withDefaults()}
}

func TestALeaseSurvivesItsEncoding(t *testing.T) {
	full := protocol.Lease{
		Session: "s", Boot: "b", Host: "h", State: protocol.Fenced, FencedBy: "other", DeathProven: true, Renewals: 1 << 40,
		Settings:  ring.Settings{Buckets: 128, Hash: "any", Validity: 1234567891, Patience: time.Nanosecond},
		Published: map[string]string{"a": "ü\"", "": ""},
	}
	for name, lease := range map[string]protocol.Lease{"full": full, "bare": {Session: "s", State: protocol.Starting}} {
		t.Run(name, func(t *testing.T) {
			c := codecClient()
			object, err := c.encodeLease(lease)
			if err != nil {
				t.Fatal(err)
			}
			object.ResourceVersion = "7"
			stored, ok := c.decodeLease(object)
			if diff := cmp.Diff(protocol.StoredLease{Lease: lease, Version: "7"}, stored); !ok || diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if seconds := *object.Spec.LeaseDurationSeconds; seconds != 1 {
				t.Errorf("the duration is %d s", seconds)
			}
		})
	}
}

// An unreadable Lease must never appear free or fenced.
func TestAnEditedLeaseIsUnknownAndKeepsItsName(t *testing.T) {
	c := codecClient()
	good, err := c.encodeLease(protocol.Lease{
		Session: "s", State: protocol.Fenced, FencedBy: "f", Published: map[string]string{"a": "b"}, Renewals: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(map[string]string){
		"no annotations":      func(a map[string]string) { clear(a) },
		"no state":            func(a map[string]string) { delete(a, stateAnnotation) },
		"a state of tomorrow": func(a map[string]string) { a[stateAnnotation] = "paused" },
		"another session":     func(a map[string]string) { a[sessionAnnotation] = "t" },
		"no settings":         func(a map[string]string) { delete(a, settingsAnnotation) },
		"broken settings":     func(a map[string]string) { a[settingsAnnotation] = `{"validity":"soon"}` },
		"broken renewals":     func(a map[string]string) { a[renewalsAnnotation] = "many" },
		"broken board":        func(a map[string]string) { a[publishedAnnotation] = "[]" },
	} {
		t.Run(name, func(t *testing.T) {
			object := &coordinationv1.Lease{}
			good.DeepCopyInto(object)
			object.ResourceVersion = "8"
			object.Annotations = maps.Clone(object.Annotations)
			edit(object.Annotations)
			stored, ok := c.decodeLease(object)
			want := protocol.StoredLease{Lease: protocol.Lease{Session: "s"}, Version: "8"}
			if diff := cmp.Diff(want, stored); !ok || diff != "" {
				t.Errorf("ok %t (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestALeaseWithAnotherNameIsNoSession(t *testing.T) {
	for _, name := range []string{"another-lease", defaultPrefix} {
		object := &coordinationv1.Lease{}
		object.Name = name
		if stored, ok := codecClient().decodeLease(object); ok {
			t.Errorf("%s is taken for %+v", name, stored)
		}
	}
}
