package shards

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

func TestShardsAreATable(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	session := func(name, host string, state protocol.State) hub.Session {
		return hub.Session{Lease: protocol.Lease{Session: name, Host: host, State: state}, Renewed: now.Add(-1200 * time.Millisecond)}
	}
	snapshot := hub.Snapshot{
		Found: true,
		Ring: ring.Ring{
			Settings:   ring.Settings{Buckets: 6, Validity: 8 * time.Second, Patience: 12 * time.Second},
			Generation: 2, Rebuilt: 1, Sequence: 9, Leader: ring.Lock{Holder: "s2"},
			Buckets: []ring.Lock{{Holder: "s2"}, {Holder: "s2"}, {Holder: "s1"}, {}, {Holder: "gone"}, {Holder: "gone"}},
		},
		Sessions: []hub.Session{session("s2", "pod-b", protocol.Ready), session("s1", "pod-a", protocol.Draining), session("s3", "", "")},
	}
	var out bytes.Buffer
	if err := Print(&out, snapshot, now); err != nil {
		t.Fatal(err)
	}
	want := `REPLICA   SESSION   STATE          BUCKETS   LEADER   RENEWED
-         s3        unknown        0                  1.2s ago
pod-a     s1        draining       1                  1.2s ago
pod-b     s2        ready          2         yes      1.2s ago
-         -         free           1                  
-         -         lost session   2                  

6 buckets, generation 2 (rebuilt in 1), written 9 times; sessions are valid for 8s and given up after 12s.
`
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	evil := "x\x1b[2J\t\u202ey\n"
	if err := Print(&out, hub.Snapshot{Found: true, Sessions: []hub.Session{session(evil, evil, protocol.State(evil))}}, now); err != nil ||
		!strings.Contains(out.String(), "\nx�[2J �y    x�[2J �y    x�[2J �y    0 ") {
		t.Errorf("a Lease of another writer is printed as %q, error %v", out.String(), err)
	}
	out.Reset()
	if err := Print(&out, hub.Snapshot{}, now); err != nil || !strings.Contains(out.String(), "no shard map yet") {
		t.Errorf("without a shard map it prints %q, error %v", out.String(), err)
	}
}
