package death

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const boot = "0f6f1f0e-6c1f-4e6b-9df0-5a0d2f1c7c11"

var process = Process{Place{Pod: "pod-1", Container: "manager"}, boot}

// killed is a Pod whose process the kernel killed.
func killed() *corev1.Pod {
	ended := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "vmgroup-operator-0", UID: "pod-1"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "sidecar", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}, {
				Name: "manager",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: 137, Reason: "Error", Message: boot, ContainerID: "containerd://abc",
					StartedAt: metav1.NewTime(ended.Add(-time.Hour)), FinishedAt: metav1.NewTime(ended),
				}},
			}},
		},
	}
}

func state(p *corev1.Pod) *corev1.ContainerState { return &p.Status.ContainerStatuses[1].State }

func ended(p *corev1.Pod) *corev1.ContainerStateTerminated { return state(p).Terminated }

// restarted moves the termination of killed to its place after the container has restarted.
func restarted(p *corev1.Pod) {
	s := &p.Status.ContainerStatuses[1]
	s.LastTerminationState, s.State = s.State, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	s.RestartCount++
}

func TestOnlyATerminationWithTheProcessesOwnMessageProvesItsDeath(t *testing.T) {
	now := metav1.Now()
	for _, c := range []struct {
		name   string
		change func(p *corev1.Pod)
		proven bool
	}{
		{"killed", func(*corev1.Pod) {}, true},
		{"killed and started again", restarted, true},
		{"out of memory", func(p *corev1.Pod) { ended(p).Reason = "OOMKilled" }, true},
		{"completed", func(p *corev1.Pod) { ended(p).Reason, ended(p).ExitCode = "Completed", 0 }, true},
		{"started again and ended again, with another message", func(p *corev1.Pod) {
			restarted(p)
			state(p).Running = nil
			state(p).Terminated = killed().Status.ContainerStatuses[1].State.Terminated
			ended(p).Message = "another"
		}, true},
		{"the Pod is being deleted", func(p *corev1.Pod) { p.DeletionTimestamp = &now }, true},

		{"it runs", func(p *corev1.Pod) { *state(p) = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}} }, false},
		{"it waits", func(p *corev1.Pod) {
			*state(p) = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: boot}}
		}, false},
		// The runtime lost its root and state: it creates a newer container while the old process runs.
		{"a newer container and a higher restart count", func(p *corev1.Pod) {
			restarted(p)
			p.Status.ContainerStatuses[1].LastTerminationState = corev1.ContainerState{}
			p.Status.ContainerStatuses[1].ContainerID = "containerd://newer"
		}, false},
		// The same, and the Pod was deleted.
		{"an unknown status", func(p *corev1.Pod) {
			*ended(p) = corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", ExitCode: 137, Message: "The container could not be located when the pod was terminated"}
			p.Status.Phase, p.DeletionTimestamp = corev1.PodFailed, &now
		}, false},
		{"an unknown status, with everything else", func(p *corev1.Pod) { ended(p).Reason = "ContainerStatusUnknown" }, false},
		// The runtime lost its state, but not its root: ID, end and message are correct, and the process runs.
		{"the runtime has lost the task", func(p *corev1.Pod) { ended(p).Reason, ended(p).ExitCode = "Unknown", 255 }, false},
		{"the reason is unknown", func(p *corev1.Pod) { ended(p).Reason = "Unknown" }, false},
		{"the exit code is unknown", func(p *corev1.Pod) { ended(p).ExitCode = 255 }, false},
		{"the reason is missing", func(p *corev1.Pod) { ended(p).Reason = "" }, false},
		{"the reason is another", func(p *corev1.Pod) { ended(p).Reason = "StartError" }, false},
		{"the reason is written in another way", func(p *corev1.Pod) { ended(p).Reason = "error" }, false},

		{"the message of a predecessor", func(p *corev1.Pod) { ended(p).Message = "5b0f3c92-0f5f-4b5e-8a53-1f8e3f6f4c0d" }, false},
		{"no message", func(p *corev1.Pod) { ended(p).Message = "" }, false},
		{"a newline behind the message", func(p *corev1.Pod) { ended(p).Message += "\n" }, false},
		{"a message that was cut off", func(p *corev1.Pod) { ended(p).Message = boot[:30] }, false},
		{"a message with something before it", func(p *corev1.Pod) { ended(p).Message = "log\n" + boot }, false},
		{"a message in capitals", func(p *corev1.Pod) { ended(p).Message = strings.ToUpper(boot) }, false},
		{"no container ID", func(p *corev1.Pod) { ended(p).ContainerID = "" }, false},
		{"no end", func(p *corev1.Pod) { ended(p).FinishedAt = metav1.Time{} }, false},
		{"an end at the beginning of 1970", func(p *corev1.Pod) { ended(p).FinishedAt = metav1.Unix(0, 0) }, false},

		{"another Pod of the same name", func(p *corev1.Pod) { p.UID = "pod-2" }, false},
		{"another container", func(p *corev1.Pod) { p.Status.ContainerStatuses[1].Name = "proxy" }, false},
		{"an init container", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
		}, false},
		{"an ephemeral container", func(p *corev1.Pod) {
			p.Status.EphemeralContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
		}, false},
		{"no status of containers", func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, false},
		{"a phase, conditions and a deletion", func(p *corev1.Pod) {
			*state(p) = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
			p.Status.Phase, p.Status.Reason, p.Status.Message, p.DeletionTimestamp = corev1.PodFailed, "Evicted", boot, &now
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Message: boot}}
			p.Status.ContainerStatuses[1].RestartCount = 7
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pod := killed()
			c.change(pod)
			proven, why := Proves(pod, process)
			if proven != c.proven || why == "" {
				t.Errorf("proven: %v (%s), want %v", proven, why, c.proven)
			}
		})
	}
}

func TestWithoutAPodOrAProcessNothingIsProven(t *testing.T) {
	if proven, _ := Proves(nil, process); proven {
		t.Error("a Pod that is missing proves a death")
	}
	for _, p := range []Process{
		{}, {process.Place, ""}, {Place{Container: "manager"}, boot}, {Place{Pod: "pod-1"}, boot},
	} {
		pod := killed()
		pod.UID = p.Pod
		ended(pod).Message, pod.Status.ContainerStatuses[1].Name = p.Boot, p.Container
		if proven, _ := Proves(pod, p); proven {
			t.Errorf("%+v is proven to be dead", p)
		}
	}
}

func TestAPlaceIsReadAsItWasWritten(t *testing.T) {
	place := process.Place
	if got, ok := ParsePlace(place.String()); !ok || got != place {
		t.Errorf("%q is read as %+v, %v", place.String(), got, ok)
	}
	for _, place := range []Place{{}, {Pod: "pod-1"}, {Container: "manager"}} {
		if text := place.String(); text != "" {
			t.Errorf("%+v is written as %q", place, text)
		}
	}
	for _, text := range []string{"", "pod-1/manager", `{"pod":"pod-1"}`, `{"container":"manager"}`, `["pod-1","manager"]`} {
		if place, ok := ParsePlace(text); ok {
			t.Errorf("%q is read as %+v", text, place)
		}
	}
}
