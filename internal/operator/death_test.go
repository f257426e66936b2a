package operator

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/death"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// TestOnlyAProcessThatLeftItsMessageSaysWhereItRuns: otherwise a replica would search for a proof
// that cannot come.
func TestOnlyAProcessThatLeftItsMessageSaysWhereItRuns(t *testing.T) {
	log := filepath.Join(t.TempDir(), "termination-log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		Options
		want string
	}{
		{"in a Pod", Options{PodUID: "pod-1", ContainerName: "manager", TerminationLog: log}, `{"pod":"pod-1","container":"manager"}`},
		{"without a Pod", Options{ContainerName: "manager", TerminationLog: log}, ""},
		{"without a file", Options{PodUID: "pod-1", ContainerName: "manager", TerminationLog: log + ".none"}, ""},
		{"without a right to the file", Options{PodUID: "pod-1", ContainerName: "manager", TerminationLog: t.TempDir()}, ""},
	} {
		replica, err := sharding.New(sharding.Options{
			Timings: protocol.DefaultTimings(), Buckets: 1, Boot: "boot-" + c.name, NewSession: func() string { return "session" },
			Random: func() float64 { return 0.5 }, Clock: func() protocol.Instant { return protocol.Instant{Mono: time.Hour} }, Log: logr.Discard(),
		})
		if err != nil {
			t.Fatal(err)
		}
		announceDeath(replica, c.Options, "boot-"+c.name)
		if got := replica.Peers()[0].Published[death.PublishedKey]; got != c.want {
			t.Errorf("%s: it says that it runs in %q, want %q", c.name, got, c.want)
		}
	}
	if content, err := os.ReadFile(log); string(content) != "boot-in a Pod" || err != nil {
		t.Errorf("the file holds %q, error %v", content, err)
	}
}
