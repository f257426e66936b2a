package cli

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

func TestTheHolderOfABucket(t *testing.T) {
	live := hub.Session{Lease: protocol.Lease{Session: "s1", Host: "pod-a", State: protocol.Draining}}
	unnamed := hub.Session{Lease: protocol.Lease{Session: "s3"}}
	for story, test := range map[string]struct {
		holder, says string
		held         bool
	}{
		"held":         {"s1", "held by pod-a (session s1, draining)", true},
		"unnamed":      {"s3", "held by a replica without a name (session s3, unknown)", true},
		"free":         {"", "held by no replica: one takes it within seconds", false},
		"lost session": {"s2\x1b[2J", "held by session \"s2�[2J\", which has no Lease any more: another replica takes it within seconds", false},
	} {
		t.Run(story, func(t *testing.T) {
			snapshot := hub.Snapshot{Found: true, Ring: ring.Ring{Buckets: []ring.Lock{{}, {Holder: test.holder}}}, Sessions: []hub.Session{live, unnamed}}
			if holder, held := holderOf(snapshot, 1); holder != test.says || held != test.held {
				t.Errorf("it is %q, %t", holder, held)
			}
		})
	}
}
