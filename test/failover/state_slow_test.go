//go:build unix && slow

package failover

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

func TestFailoverAReplicaWithOtherBucketsStaysUnreadyAndDisturbsNobody(t *testing.T) {
	ctx, s := story(t)
	before := time.Now()
	odd, err := s.AddReplica(ctx, "odd", "--shard-buckets=64")
	s.must(err)
	s.until(ctx, "its session", func() bool { return s.observer.Timeline().BootOf(odd.Name) != "" })
	quiet := time.NewTimer(20 * time.Second)
	defer quiet.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for waiting := true; waiting; {
		select {
		case <-quiet.C:
			waiting = false
		case <-look.C:
			if odd.Ready(ctx) {
				s.Fatal("it says that it is ready")
			}
		}
	}
	if !odd.Alive() {
		s.Errorf("it ended; its last words:\n%s", odd.Tail(15))
	}
	s.noMoves(before, "because of a replica with other buckets")
	s.must(odd.Remove())
	s.untilAllAct(before)
	s.end(ctx)
}

func TestFailoverDeletedLeasesAreMadeAnew(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	old := map[string]bool{}
	leases := &coordinationv1.LeaseList{}
	s.must(s.Hub.List(ctx, leases, client.InNamespace(stack.Namespace)))
	deleted := time.Now()
	for i := range leases.Items {
		if name, ours := strings.CutPrefix(leases.Items[i].Name, LeasePrefix); ours {
			old[name] = true
			s.must(client.IgnoreNotFound(s.Hub.Delete(ctx, &leases.Items[i])))
		}
	}
	if len(old) < replicaCount {
		s.Fatalf("there were %d Leases", len(old))
	}
	gaps := func() []Gap {
		return s.observer.Timeline().Ownerless(deleted, func(session string) bool { return old[session] })
	}
	s.until(ctx, "new sessions to own everything", func() bool { return Percentile(gaps(), 1) < time.Hour })
	s.Logf("buckets were without an owner for %s (median), %s (longest)", round(Percentile(gaps(), 0.5)), round(Percentile(gaps(), 1)))
	s.atMost("a bucket was without an owner for", Percentile(gaps(), 1), takeover+2*time.Second)
	s.untilShared(ctx)
	s.untilAllAct(deleted)
	same()
	s.end(ctx)
}

func TestFailoverADeletedRingIsRebuiltWithAHigherGeneration(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	before := s.observer.Timeline().Now()
	deleted := time.Now()
	s.must(s.Hub.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: RingName}}))
	s.rebuilt(ctx, deleted, before.Generation)
	same()
	s.end(ctx)
}

// rebuilt waits until the shard map has a higher generation than one and all share it. It checks that no replica
// claimed anything before all replicas of the former shard map had to stop.
func (s *tale) rebuilt(ctx context.Context, lost time.Time, generation int64) {
	s.Helper()
	s.until(ctx, "the shard map to be rebuilt", func() bool {
		now := s.observer.Timeline().Now()
		return now != nil && now.Generation > generation
	})
	s.untilShared(ctx)
	line := s.observer.Timeline()
	for _, seen := range line.Rings {
		if seen.Ring == nil || seen.Ring.Generation <= generation || !seen.At.After(lost) {
			continue
		}
		for bucket, lock := range seen.Ring.Buckets {
			if lock.Holder != "" {
				s.Logf("the first bucket was claimed %s after the loss", round(seen.At.Sub(lost)))
				if wait := seen.At.Sub(lost); wait < 8*time.Second {
					s.Errorf("bucket %d was claimed after %s: others can still act by the lost shard map", bucket, round(wait))
				}
				s.untilAllAct(seen.At)
				return
			}
		}
	}
}

// TestFailoverARestoredHubIsNoticed restores etcd to a state before buckets changed hands: the shard map names former
// owners, under epochs that were used since.
func TestFailoverARestoredHubIsNoticed(t *testing.T) {
	ctx, s := story(t)
	backup := s.TempDir()
	s.hubDown(ctx, func() { s.must(os.CopyFS(backup, os.DirFS(s.Hub.EtcdDataDir()))) })
	s.untilShared(ctx)
	for _, victim := range s.Replicas[:2] {
		victim.Kill()
		s.until(ctx, "its buckets to be taken", func() bool { return s.observer.Timeline().Shares()[victim.Name] == 0 })
		s.must(victim.Restart(ctx))
		s.untilShared(ctx)
	}
	generation := s.observer.Timeline().Now().Generation
	lost := time.Now()
	s.hubDown(ctx, func() {
		s.must(os.RemoveAll(s.Hub.EtcdDataDir()))
		s.must(os.CopyFS(s.Hub.EtcdDataDir(), os.DirFS(backup)))
		s.must(os.Chmod(s.Hub.EtcdDataDir(), 0o700)) // etcd requires it
	})
	// Their caches of the hub are from another time: all end, and Kubernetes restarts them.
	for _, r := range s.Replicas {
		s.until(ctx, r.Name+" to end", func() bool { return !r.Alive() })
		s.must(r.Restart(ctx))
	}
	same := s.sameProcesses()
	s.rebuilt(ctx, lost, generation)
	same()
	s.end(ctx)
}

// hubDown runs a function while the hub's API server and etcd are stopped.
func (s *tale) hubDown(ctx context.Context, do func()) {
	s.Helper()
	s.Hub.KillAPIServer() // on SIGTERM it would wait for the end of all watches
	s.must(s.Hub.StopEtcd(ctx))
	do()
	s.must(s.Hub.StartEtcd(ctx))
	s.must(s.Hub.StartAPIServer(ctx))
}
