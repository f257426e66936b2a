//go:build unix && !fast

package death

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// long is a takeover timeout that far exceeds the duration of a takeover by proof on a loaded machine. slack is how
// late such a takeover can be there: a takeover within it is not due to the Lease.
const long, slack = 20 * time.Second, 12 * time.Second

// TestAKilledReplicaIsReplacedByProof: a takeover by proof needs the minimum silence, but ends long before the takeover
// timeout.
func TestAKilledReplicaIsReplacedByProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "killed")
	w.timings.Patience = long
	a := w.start("a")
	w.until("the first replica to hold everything", a.holdsAll)
	b := w.start("b")
	w.until("the second one to know the first, and the other way round", func() bool { return b.knows(a.pod.UID) && a.knows(b.pod.UID) })
	a.kill()
	silent := a.lastRenewal()
	a.report(nil)
	told := time.Now()
	w.until("the second one to hold everything", b.holdsAll)
	took := b.gainedAt().Sub(silent)
	if took < w.timings.Proven {
		t.Errorf("taken over after %s of silence, want at least %s", took, w.timings.Proven)
	}
	if since := b.gainedAt().Sub(told); since > w.timings.Proven+slack {
		t.Errorf("taken over %s after the proof", since)
	}
	if fenced := a.lease(); fenced.State != protocol.Fenced || !fenced.DeathProven {
		t.Errorf("the fence is %+v", fenced.Lease)
	}
}

// TestAContainerThatStartsAgainTakesOverFromItself: a single replica need not wait for its predecessor's Lease to
// expire.
func TestAContainerThatStartsAgainTakesOverFromItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "again")
	w.timings.Patience = long
	a := w.start("a")
	w.until("the replica to hold everything", a.holdsAll)
	a.kill()
	silent := a.lastRenewal()
	a.report(nil)
	told := time.Now()
	again := w.startIn(a.pod)
	w.until("its successor to hold everything", again.holdsAll)
	if took := again.gainedAt().Sub(silent); took < w.timings.Proven {
		t.Errorf("taken over after %s of silence, want at least %s", took, w.timings.Proven)
	}
	if since := again.gainedAt().Sub(told); since > w.timings.Proven+slack {
		t.Errorf("taken over %s after the proof", since)
	}
}

// TestAStatusIsNotBelievedAboutAReplicaThatLives: the replica keeps its buckets. When it dies later, the full takeover
// timeout applies.
func TestAStatusIsNotBelievedAboutAReplicaThatLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "alive")
	// The false status counts between two renewals of the first replica: they must arrive before the proof is accepted.
	w.timings.Proven, w.timings.Patience = 6*time.Second, 10*time.Second
	a := w.start("a")
	w.until("the first replica to hold everything", a.holdsAll)
	b := w.start("b")
	w.until("the second one to know the first", func() bool { return b.knows(a.pod.UID) })
	session := a.Session()
	a.report(nil)
	before := a.lease().Renewals
	w.until("the first one to renew its session a few times", func() bool { return a.lease().Renewals >= before+3 })
	// The second replica can receive the status later than the renewals. It must receive both while the first one
	// lives.
	w.until("the second one to see the status refuted", func() bool { return b.says("that is not believed any more") })
	if now := a.lease(); now.State != protocol.Ready || a.Session() != session {
		t.Fatalf("it was fenced: %+v", now.Lease)
	}
	a.kill()
	silent := a.lastRenewal()
	a.report(func(s *corev1.ContainerStateTerminated) { s.FinishedAt = metav1.NewTime(time.Now().Add(time.Second)) })
	w.until("the second one to hold everything", b.holdsAll)
	if took := b.gainedAt().Sub(silent); took < w.timings.Patience {
		t.Errorf("taken over after %s of silence, want at least %s", took, w.timings.Patience)
	}
	if a.lease().DeathProven {
		t.Error("the fence is said to be by proof")
	}
}

// TestAGuessIsNoProof: the report of a kubelet whose runtime lost its state changes nothing.
func TestAGuessIsNoProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "guess")
	a := w.start("a")
	w.until("the first replica to hold everything", a.holdsAll)
	b := w.start("b")
	w.until("the second one to know the first", func() bool { return b.knows(a.pod.UID) })
	a.kill()
	silent := a.lastRenewal()
	a.report(func(s *corev1.ContainerStateTerminated) { s.Reason, s.ExitCode = "Unknown", 255 })
	if err := w.admin.CoreV1().Pods(w.namespace).Delete(t.Context(), "a", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
	w.until("the second one to hold everything", b.holdsAll)
	if took := b.gainedAt().Sub(silent); took < w.timings.Patience {
		t.Errorf("taken over after %s of silence, want at least %s", took, w.timings.Patience)
	}
}
