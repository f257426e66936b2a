//go:build unix && !fast

package hub

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// failuresTo returns a logger for failures of lists and watches.
func failuresTo(tell func(failure string)) logr.Logger {
	return funcr.New(func(_, failure string) { tell(failure) }, funcr.Options{Verbosity: 1})
}

func (p *picture) wait(t *testing.T, want string) {
	t.Helper()
	await.NoError(t, "to see "+want, func() error {
		if got := p.text(); got != want {
			return fmt.Errorf("seen is %q", got)
		}
		return nil
	})
}

// observe runs Watch until the test ends and checks that it ends then.
func observe(t *testing.T, c *Client) *picture {
	t.Helper()
	p := &picture{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Watch(ctx, p)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("Watch continues after the end of its context")
		}
	})
	return p
}

// Lists are an hour apart: only a watch can deliver in time.
func TestWatchTellsEachChange(t *testing.T) {
	f := newFixture(t, "watched")
	c := newClient(t, f.config, Options{
		Namespace: f.namespace, Relist: time.Hour, Request: patience,
		// Lists compensate for a watch that fails, and would hide the failure.
		Log: failuresTo(func(failure string) { t.Error(failure) }),
	})
	first := must(t, c, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done).Lease
	p := observe(t, c)
	p.wait(t, "s1:7 shard map missing")

	must(t, c, protocol.CreateSession{Lease: exampleLease("s2")}, protocol.Done)
	p.wait(t, "s1:7 s2:7 shard map missing")
	next := first.Lease
	next.Renewals = 8
	version := must(t, c, protocol.WriteSession{Lease: next, Version: first.Version}, protocol.Done).Lease.Version
	p.wait(t, "s1:8 s2:7 shard map missing")
	must(t, c, protocol.DeleteSession{Session: "s1", Version: version}, protocol.Done)
	p.wait(t, "s2:7 shard map missing")

	must(t, c, protocol.CreateRing{Ring: exampleRing()}, protocol.Done)
	p.wait(t, "s2:7 shard map 1")
	maps := f.admin.CoreV1().ConfigMaps(f.namespace)
	if _, err := maps.Update(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: defaultRingName}}, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "s2:7 shard map invalid")
	if err := maps.Delete(t.Context(), defaultRingName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "s2:7 shard map missing")
	if lists, _ := p.counts(); lists != 1 {
		t.Errorf("there were %d lists of sessions, want 1", lists)
	}
}

func TestAStalledWatchIsGivenUpForAList(t *testing.T) {
	f := newFixture(t, "stalled")
	proxy, c := proxied(t, f, Options{Relist: 300 * time.Millisecond})
	straight := newClient(t, f.config, Options{Namespace: f.namespace})
	proxy.StallWatches(true)
	p := observe(t, c)
	p.wait(t, "shard map missing")
	must(t, straight, protocol.CreateRing{Ring: exampleRing()}, protocol.Done)
	stored := must(t, straight, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done).Lease
	p.wait(t, "s1:7 shard map 1")
	// Deletions that no watch reports show as objects missing from a list.
	must(t, straight, protocol.DeleteSession{Session: "s1", Version: stored.Version}, protocol.Done)
	if err := f.admin.CoreV1().ConfigMaps(f.namespace).Delete(t.Context(), defaultRingName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.wait(t, "shard map missing")
	if _, single := p.counts(); single != 0 {
		t.Error("a stalled watch reported a change")
	}
}

func TestRelistDoesNotWaitForTheWatch(t *testing.T) {
	f := newFixture(t, "relist")
	proxy, c := proxied(t, f, Options{Relist: time.Hour})
	straight := newClient(t, f.config, Options{Namespace: f.namespace})
	proxy.StallWatches(true)
	p := observe(t, c)
	p.wait(t, "shard map missing")
	must(t, straight, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done)
	must(t, straight, protocol.CreateRing{Ring: exampleRing()}, protocol.Done)
	for range 3 {
		c.Relist()
	}
	p.wait(t, "s1:7 shard map 1")
	if _, single := p.counts(); single != 0 {
		t.Error("a stalled watch reported a change")
	}
}

func TestWatchGoesOnAfterItsConnectionsWereCut(t *testing.T) {
	f := newFixture(t, "cut")
	proxy, c := proxied(t, f, Options{Relist: time.Hour})
	p := observe(t, c)
	p.wait(t, "shard map missing")
	proxy.CutConnections()
	straight := newClient(t, f.config, Options{Namespace: f.namespace})
	must(t, straight, protocol.CreateSession{Lease: exampleLease("s1")}, protocol.Done)
	p.wait(t, "s1:7 shard map missing")
}

// A server that fails, then one with an unexpected response, then one whose watches end at once.
func TestFailuresAreToldAndNothingIsTakenForAnEmptyHub(t *testing.T) {
	s := newStub(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "broken", http.StatusInternalServerError) })
	failures := make(chan string, 1000)
	c := s.client(t, Options{
		Relist: time.Hour, Rand: func() float64 { return 0 },
		Log: failuresTo(func(failure string) {
			select {
			case failures <- failure:
			default:
			}
		}),
	})
	p := observe(t, c)
	next := func(want string) {
		t.Helper()
		deadline := time.After(patience)
		for {
			select {
			case failure := <-failures:
				if strings.Contains(failure, want) {
					return
				}
			case <-deadline:
				t.Fatalf("no failure that says %q", want)
			}
		}
	}
	next("broken")
	s.answer.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"})
	}))
	next(errOtherType.Error())
	if got := p.text(); got != "no list yet, shard map " {
		t.Errorf("seen is %q", got)
	}
	var watches atomic.Int64
	s.answer.Store(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			watches.Add(1)
			w.Header().Set("Content-Type", "application/json")
			return
		}
		kind, version := "ConfigMapList", "v1"
		if strings.Contains(r.URL.Path, leaseResource) {
			kind, version = "LeaseList", "coordination.k8s.io/v1"
		}
		writeJSON(w, http.StatusOK, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]string{"resourceVersion": "1"}})
	}))
	next(errEndedEarly.Error())
	p.wait(t, "shard map missing")
	if watches.Load() == 0 {
		t.Error("nothing was watched")
	}
}
