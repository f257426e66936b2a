package death

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// exitUnknown is the exit code that containerd reports for a container whose task it has lost. It proves nothing about the
// process.
const exitUnknown = 255

// endings are the reasons for an observed exit. Other reasons are guesses: Unknown, ContainerStatusUnknown.
var endings = []string{"Error", "Completed", "OOMKilled"}

// Proves reports whether the status of a Pod proves that a process has ended, and returns a sentence with the reason.
//
// The status proves it if the current or previous run of the process's container is terminated with all of the following: the
// boot of the process as its message, an ID, an end time, a meaningful exit code, and a reason for an observed exit. The Pod's
// phase, conditions, deletion and restart count prove nothing. A missing Pod proves nothing either.
func Proves(pod *corev1.Pod, p Process) (proven bool, why string) {
	if p.Pod == "" || p.Container == "" || p.Boot == "" {
		return false, "it is not known where the process ran"
	}
	if pod == nil || pod.UID != p.Pod {
		return false, "it is another Pod"
	}
	at := slices.IndexFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == p.Container })
	if at < 0 {
		return false, fmt.Sprintf("the Pod's status does not tell of a container %q", p.Container)
	}
	status := pod.Status.ContainerStatuses[at]
	why = "its container is not reported as terminated"
	for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
		if ended == nil {
			continue
		}
		if proven, why = ends(ended, p.Boot); proven {
			return true, why
		}
	}
	return false, why
}

// ends reports whether a termination is that of the process with this boot.
func ends(t *corev1.ContainerStateTerminated, boot string) (bool, string) {
	switch {
	case t.Message != boot:
		return false, "the message of the termination is not that of this process"
	case t.ContainerID == "":
		return false, "the termination names no container"
	case t.FinishedAt.Unix() <= 0: // both the zero time and the start of 1970 mean that the time is unknown
		return false, "the termination has no time"
	case !slices.Contains(endings, t.Reason):
		return false, fmt.Sprintf("the reason %q is a guess", t.Reason)
	case t.ExitCode == exitUnknown:
		return false, "the exit code is that of a container that the runtime has lost"
	}
	return true, fmt.Sprintf("its container ended with exit code %d (%s) at %s", t.ExitCode, t.Reason, t.FinishedAt.UTC().Format("15:04:05Z"))
}
