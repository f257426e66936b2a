package job

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// timeout is how long a Pod may take to start, and to report its end.
	timeout  = 2 * time.Minute
	interval = 500 * time.Millisecond
	// longestLine is the maximum number of bytes of a line of output.
	longestLine = 1 << 20
)

// failed are the reasons of a container that does not start without help.
var failed = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}

// Run creates a Job, copies its output, and returns the exit code of the manager. It deletes the Job, even if ctx ends.
func Run(ctx context.Context, hub *cluster.Cluster, j *batchv1.Job, out io.Writer) (code int32, err error) {
	if err := hub.Create(ctx, j); err != nil {
		return 0, cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		if gone := hub.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(gone) != nil {
			err = errors.Join(err, cluster.Explain(hub.Context, hub.Config.Host, gone))
		}
	}()
	pod, err := until(ctx, hub, j, func(s *corev1.ContainerStatus) bool { return s.State.Running != nil || s.State.Terminated != nil })
	if err != nil {
		return 0, err
	}
	core, err := corev1client.NewForConfig(hub.Config)
	if err != nil {
		return 0, cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	log, err := core.Pods(j.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container, Follow: true}).Stream(ctx)
	if err != nil {
		return 0, cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	defer func() { _ = log.Close() }()
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		_, _ = fmt.Fprintln(out, untrusted.Text(lines.Text(), longestLine))
	}
	if err := lines.Err(); err != nil {
		return 0, cluster.Explain(hub.Context, hub.Config.Host, err)
	}
	pod, err = until(ctx, hub, j, func(s *corev1.ContainerStatus) bool { return s.State.Terminated != nil })
	if err != nil {
		return 0, err
	}
	return statusOf(pod).State.Terminated.ExitCode, nil
}

// until waits for the Pod of a Job.
func until(ctx context.Context, hub *cluster.Cluster, j *batchv1.Job, reached func(*corev1.ContainerStatus) bool) (pod *corev1.Pod, err error) {
	why := "no Pod was created"
	err = wait.PollUntilContextTimeout(ctx, interval, timeout, true, func(ctx context.Context) (bool, error) {
		pods := &corev1.PodList{}
		if err := hub.List(ctx, pods, client.InNamespace(j.Namespace), client.MatchingLabels{batchv1.JobNameLabel: j.Name}); err != nil {
			return false, err
		}
		if len(pods.Items) == 0 {
			return false, nil
		}
		pod = &pods.Items[0]
		s := statusOf(pod)
		if waits := s.State.Waiting; waits != nil && slices.Contains(failed, waits.Reason) {
			return false, &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: fmt.Sprintf("Pod %s/%s does not start: %s: %s", pod.Namespace, pod.Name, waits.Reason, untrusted.Text(waits.Message, 400))}
		}
		why = describe(pod)
		return reached(s), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil, &cluster.Failure{Code: cluster.ExitUnreachable, Sentence: fmt.Sprintf("Job %s/%s does not make progress: %s.", j.Namespace, j.Name, why)}
	}
	return pod, cluster.Explain(hub.Context, hub.Config.Host, err)
}

// statusOf returns the status of the manager's container, which is empty before the Pod has a node.
func statusOf(pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == container {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return &corev1.ContainerStatus{}
}

// describe explains why a Pod does not run.
func describe(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("Pod %s has no node: %s", pod.Name, untrusted.Text(c.Message, 400))
		}
	}
	return fmt.Sprintf("Pod %s is %s", pod.Name, pod.Status.Phase)
}
