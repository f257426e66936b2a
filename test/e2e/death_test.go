//go:build e2e

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

const (
	// provenWithin is the takeover bound if the kubelet reports the death. It is seen after 0.35 to 0.93 s, the session
	// must have been silent for 2.5 s, and then it is fenced.
	provenWithin = 3500 * time.Millisecond
	// leaseWithin is the takeover bound if only the silence shows the death.
	leaseWithin = 12500 * time.Millisecond
	// silence is the silence of a session before others take over without a proof, 12 s, less the differences between
	// observers.
	silence = 11 * time.Second
)

func containerOf(t *testing.T, pod *corev1.Pod) *localcluster.Container {
	t.Helper()
	container, err := world.hub.Container(t.Context(), pod.Namespace, pod.Name, "manager")
	must(t, err)
	return container
}

// processes are those of the operator's Pods, by boot.
func processes(t *testing.T) map[string]*localcluster.Container {
	t.Helper()
	list, all := pods(t), map[string]*localcluster.Container{}
	for i := range list {
		all[bootOf(t, list[i].Name)] = containerOf(t, &list[i])
	}
	return all
}

// aKilledProcessIsProvenDead kills a process by the kernel's SIGKILL: its container's termination is the proof.
func aKilledProcessIsProvenDead(t *testing.T) {
	victim := busiest(t)
	boot, process := bootOf(t, victim.Name), containerOf(t, victim)
	must(t, scaleAll(t.Context()))
	must(t, process.Kill())
	killed := time.Now()
	gaps := untilTakenOver(t, killed, boot)
	if most := longest(t, "a process was killed", gaps); most > provenWithin {
		t.Errorf("groups were alone for %s, want %s at most", most, provenWithin)
	}
	// Data in flight can arrive a little later, and is read when this process runs.
	silentSince(t, boot, killed.Add(time.Second+world.pulse.lost(killed, time.Now())))
	untilThreeReady(t)
	untilFulfilled(t)
	oneAtATime(t)
}

func aDeletedPodHandsOver(t *testing.T) {
	victim := busiest(t)
	boot, deleted := bootOf(t, victim.Name), time.Now()
	must(t, scaleAll(t.Context()))
	must(t, world.hub.Delete(t.Context(), victim))
	untilTakenOver(t, deleted, boot)
	handedOver(t, "a Pod was deleted", deleted, boot)
	untilThreeReady(t)
	untilFulfilled(t)
	oneAtATime(t)
}

// aRuntimeThatForgotProvesNothing: the runtime loses its state, and the kubelet reports the end of containers whose
// processes still run. The report has text that only the process itself can have written.
func aRuntimeThatForgotProvesNothing(t *testing.T) {
	victim := busiest(t)
	orphans := processes(t)
	provesNothing(t, victim, func() { must(t, world.hub.LoseRuntimeState(t.Context(), localcluster.LoseState)) })
	// No other component ends them: the runtime does not know them any more.
	ended := time.Now()
	for boot, orphan := range orphans {
		_ = orphan.Kill()
		untilNobodyIs(t, boot, ended)
	}
	untilThreeReady(t)
}

// aKilledShimProvesNothing: the shim between the runtime and the process is killed, but not the process.
func aKilledShimProvesNothing(t *testing.T) {
	victim := busiest(t)
	process, boot := containerOf(t, victim), bootOf(t, victim.Name)
	provesNothing(t, victim, func() {
		shim, err := parentOf(process.PID)
		must(t, err)
		must(t, syscall.Kill(shim, syscall.SIGKILL))
	})
	ended := time.Now()
	_ = process.Kill()
	untilNobodyIs(t, boot, ended)
	untilThreeReady(t)
}

// provesNothing makes the kubelet report a running process as ended, and then stops the process. Others must wait as if
// there were no report, and the resumed process must not act any more.
func provesNothing(t *testing.T, victim *corev1.Pod, lie func()) {
	t.Helper()
	boot, process := bootOf(t, victim.Name), containerOf(t, victim)
	lie()
	var report *corev1.ContainerStateTerminated
	await.Until(t, "the kubelet to report an end that was none", func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{}
		err := world.hub.Get(ctx, ref(victim.Namespace, victim.Name), pod)
		report = reportOf(pod, process.ID)
		return report != nil, err
	})
	stopped := time.Now()
	must(t, process.Freeze())
	if !process.Alive() {
		t.Fatal("the process has ended: the story says nothing")
	}
	// It can have lost its network before the report, and be silent for longer than it has been stopped.
	renewed := renewal(t, boot)
	if report.Message != boot {
		t.Errorf("the report's message is %q, want the boot: the story says less than it could", report.Message)
	}
	t.Logf("reported as terminated: reason %s, exit code %d, %s after the last renewal", report.Reason, report.ExitCode, round(stopped.Sub(renewed)))
	gaps := untilTakenOver(t, stopped, boot)
	longest(t, "a living process was reported as terminated, and stopped", gaps)
	for _, g := range gaps {
		if waited := g.To.Sub(renewed); waited < silence {
			t.Errorf("bucket %d was taken %s after the session's last renewal, before anything was known", g.Bucket, waited)
			break
		}
	}
	must(t, process.Thaw())
	resumed := time.Now()
	untilThreeReady(t)
	untilFulfilled(t)
	silentSince(t, boot, resumed)
	oneAtATime(t)
}

// reportOf is a Pod's termination report of one of its containers, or nil.
func reportOf(pod *corev1.Pod, id string) *corev1.ContainerStateTerminated {
	for _, status := range pod.Status.ContainerStatuses {
		for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
			if ended != nil && strings.HasSuffix(ended.ContainerID, id) {
				return ended
			}
		}
	}
	return nil
}

func parentOf(pid int) (int, error) {
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if parent, found := strings.CutPrefix(line, "PPid:"); found {
			return strconv.Atoi(strings.TrimSpace(parent))
		}
	}
	return 0, errors.New("a process without a parent")
}

// withoutAKubeletTheLeaseDecides: no component reports the death of a frozen process.
func withoutAKubeletTheLeaseDecides(t *testing.T) {
	victim := busiest(t)
	boot, process := bootOf(t, victim.Name), containerOf(t, victim)
	must(t, world.hub.StopKubelet(t.Context()))
	must(t, process.Freeze())
	frozen := time.Now()
	must(t, scaleAll(t.Context()))
	gaps := untilTakenOver(t, frozen, boot)
	if most := longest(t, "a process was frozen, without a kubelet", gaps); most > leaseWithin {
		t.Errorf("groups were alone for %s, want %s at most", most, leaseWithin)
	}
	must(t, process.Thaw())
	resumed := time.Now()
	must(t, world.hub.StartKubelet(t.Context()))
	untilThreeReady(t)
	untilFulfilled(t)
	silentSince(t, boot, resumed)
	oneAtATime(t)
}
