package serving

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
)

// rotate renews authority and serving certificate at once. The files arrive at one replica after the other, and one
// replica restarts in between. It returns when all serve the new certificate and members trust the new authority only.
func (l *lab) rotate(replicas []*labReplica) []*labReplica {
	l.t.Helper()
	issued := issue(l.t)
	want, err := trust.ParseLeaf(trust.Pair{Certificate: issued.certificate, Key: issued.key})
	if err != nil {
		l.t.Fatal(err)
	}
	if !l.naive {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: trust.AuthoritySecretName}, Data: map[string][]byte{"tls.crt": issued.authority},
		}
		if err := l.hub.Update(l.t.Context(), secret); err != nil {
			if err := l.hub.Create(l.t.Context(), secret); err != nil {
				l.t.Fatal(err)
			}
		}
	}
	for i, r := range replicas {
		issued.write(l.t, r.dir)
		l.await("calls continue", l.more(20))
		if i == 0 {
			// The leader, which has just begun: another one continues.
			l.end(r)
			fresh := l.start(fmt.Sprintf("%s'", r.name), r.dir)
			l.await("the new process serves", func() bool { return l.naive || fresh.keeper.Check(nil) == nil })
			replicas[i] = fresh
		}
	}
	if !l.naive {
		hash := trust.BundleHash(trust.ParseAuthorities(issued.authority))
		l.await("all serve the new certificate, and members trust only its authority", func() bool {
			for _, r := range replicas {
				bundle, _ := r.rotator.Bundle()
				if r.keeper.serving().Fingerprint != want.Fingerprint || trust.BundleHash(trust.ParseAuthorities(bundle)) != hash {
					return false
				}
			}
			return true
		})
	}
	l.await("calls continue", l.more(80))
	return replicas
}

// more returns a condition that holds after this many more calls.
func (l *lab) more(calls int) func() bool {
	made := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.calls
	}
	until := made() + calls
	return func() bool { return made() >= until }
}

// run rotates certificates under load and returns the number of calls, and the failures.
func run(t *testing.T, naive bool, rotations int) (calls int, failures []error) {
	members := []string{"member-1", "member-2"}
	l := newLab(t, naive, members...)
	first := issue(t)
	var replicas []*labReplica
	for i := range 3 {
		dir := t.TempDir()
		first.write(t, dir)
		replicas = append(replicas, l.start(fmt.Sprintf("replica-%d", i), dir))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for i, member := range members {
		load.Go(func() { every(ctx, pause, func() { l.call(ctx, member) }) })
		load.Go(func() {
			every(ctx, time.Duration(20+30*i)*time.Millisecond, func() {
				if err := l.tend(ctx, member); err != nil && ctx.Err() == nil {
					t.Errorf("tend %s: %v", member, err)
				}
			})
		})
	}
	l.await("calls succeed", l.more(20))
	for range rotations {
		replicas = l.rotate(replicas)
	}
	cancel()
	load.Wait()
	for _, r := range replicas {
		l.end(r)
	}
	return l.calls, l.failures
}

func TestRotationOfEverythingUnderLoadFailsNoHandshake(t *testing.T) {
	calls, failures := run(t, false, 3)
	t.Logf("%d handshakes, %d failed", calls, len(failures))
	if len(failures) > 0 {
		t.Errorf("%d of %d handshakes failed, the first with: %v", len(failures), calls, failures[0])
	}
	if calls < 300 {
		t.Errorf("only %d handshakes were made: that proves nothing", calls)
	}
}

// TestTheNaiveOrderFailsHandshakes shows that the test above can fail: every replica serves its files at once, and members
// trust the newest authority.
func TestTheNaiveOrderFailsHandshakes(t *testing.T) {
	calls, failures := run(t, true, 1)
	t.Logf("%d handshakes, %d failed", calls, len(failures))
	if len(failures) == 0 {
		t.Errorf("all %d handshakes succeeded with certificates in the wrong order", calls)
	}
}
