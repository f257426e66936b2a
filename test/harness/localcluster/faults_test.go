//go:build unix && e2e

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// somePod is the name of a Pod of the Deployment.
func somePod(t *testing.T, clients kubernetes.Interface) string { return podNames(t, clients)[0] }

// podNames are those of the Deployment.
func podNames(t *testing.T, clients kubernetes.Interface) []string {
	t.Helper()
	pods, err := clients.CoreV1().Pods("web").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("no Pods: %v", err)
	}
	names := make([]string, 0, len(pods.Items))
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}

// status is that of the only container of a Pod.
func status(ctx context.Context, clients kubernetes.Interface, pod string) (corev1.ContainerStatus, error) {
	object, err := clients.CoreV1().Pods("web").Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return corev1.ContainerStatus{}, err
	}
	if len(object.Status.ContainerStatuses) != 1 {
		return corev1.ContainerStatus{}, fmt.Errorf("the kubelet reports %d containers", len(object.Status.ContainerStatuses))
	}
	return object.Status.ContainerStatuses[0], nil
}

// container finds the running one of a Pod.
func container(t *testing.T, h *Hub, pod string) *Container {
	t.Helper()
	c, err := h.Container(t.Context(), "web", pod, "web")
	if err != nil {
		t.Fatal(err)
	}
	if program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", c.PID)); err != nil || filepath.Base(program) != "web" {
		t.Fatalf("process %d is not the container's: %q, %v", c.PID, program, err)
	}
	return c
}

// waitEnded waits until the kubelet reports the end of a container, and that another one runs.
func waitEnded(t *testing.T, clients kubernetes.Interface, pod, id string) *corev1.ContainerStateTerminated {
	t.Helper()
	var ended *corev1.ContainerStateTerminated
	await.NoError(t, "the end of container "+id, func() error {
		s, err := status(t.Context(), clients, pod)
		if err != nil {
			return err
		}
		ended = s.LastTerminationState.Terminated
		if ended == nil || ended.ContainerID != "containerd://"+id || s.State.Running == nil || !s.Ready {
			return fmt.Errorf("its status is %+v", s)
		}
		return nil
	})
	return ended
}

func endProcess(t *testing.T, h *Hub, clients kubernetes.Interface) {
	pod := somePod(t, clients)
	c := container(t, h, pod)
	object, err := clients.CoreV1().Pods("web").Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + object.Status.PodIP + ":8080/who"
	if err := c.Freeze(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if got, err := fetch(short, address); err == nil || !c.Alive() {
		t.Errorf("a frozen container answers %q, and alive is %t", got, c.Alive())
	}
	if err := c.Thaw(); err != nil {
		t.Fatal(err)
	}
	if got, err := fetch(t.Context(), address); err != nil || got != pod {
		t.Errorf("a thawed container answers %q, %v", got, err)
	}

	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	ended := waitEnded(t, clients, pod, c.ID)
	if ended.ExitCode != 137 || ended.Message != pod || c.Alive() {
		t.Errorf("after SIGKILL: exit code %d, message %q, alive %t; want 137 and what the program wrote", ended.ExitCode, ended.Message, c.Alive())
	}
}

func crashNode(t *testing.T, h *Hub, clients kubernetes.Interface) {
	pod := somePod(t, clients)
	c := container(t, h, pod)
	h.KillKubelet()
	h.KillContainerd()
	h.KillKubeProxy()
	if !c.Alive() {
		t.Fatal("the container ended with them")
	}
	if err := errors.Join(h.StartContainerd(t.Context()), h.StartKubelet(t.Context()), h.StartKubeProxy(t.Context())); err != nil {
		t.Fatal(err)
	}
	if again := container(t, h, pod); again.PID != c.PID {
		t.Errorf("the container's process was %d and is %d", c.PID, again.PID)
	}
}

// loseState covers the false alarms of a kubelet: a process that it reports as ended can live.
func loseState(t *testing.T, h *Hub, clients kubernetes.Interface) {
	// Not the first one, which ended before: the kubelet would pause before it restarts that.
	names := podNames(t, clients)
	pod := names[len(names)-1]
	c := container(t, h, pod)
	began := time.Now()
	if err := h.LoseRuntimeState(t.Context(), LoseState); err != nil {
		t.Fatal(err)
	}
	ended := waitEnded(t, clients, pod, c.ID)
	t.Logf("reported %s after the loss of state", time.Since(began).Round(100*time.Millisecond))
	if ended.ExitCode != 255 || ended.Reason != "Unknown" || !c.Alive() {
		t.Errorf("state lost: exit code %d, reason %q, alive %t; want 255, Unknown, true", ended.ExitCode, ended.Reason, c.Alive())
	}

	before, err := status(t.Context(), clients, pod)
	if err != nil {
		t.Fatal(err)
	}
	c, began = container(t, h, pod), time.Now()
	if err := h.LoseRuntimeState(t.Context(), LoseRootAndState); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "another container in the Pod", func() error {
		s, err := status(t.Context(), clients, pod)
		if err == nil && (s.ContainerID == "containerd://"+c.ID || s.State.Running == nil || s.RestartCount <= before.RestartCount) {
			err = fmt.Errorf("its status is %+v", s)
		}
		return err
	})
	t.Logf("another container %s after the loss of root and state", time.Since(began).Round(100*time.Millisecond))
	if !c.Alive() {
		t.Error("the container that was forgotten has ended")
	}
}

func init() { helpers["hub"] = helpHub }

func helpHub() error {
	h, err := StartHub(context.Background(), HubOptions{Name: "orphan"})
	if err != nil {
		return err
	}
	if err := h.LoadImage(context.Background(), os.Getenv(archiveEnv)); err != nil {
		return err
	}
	kubeconfig := filepath.Join(h.Dir(), "admin.kubeconfig")
	if err := os.WriteFile(kubeconfig, h.Kubeconfig(), 0o600); err != nil {
		return err
	}
	fmt.Println(kubeconfig, h.NodeDir(), h.node.space.pid(), h.node.net.link())
	return nil
}

// archiveEnv names the image that the helper must load.
const archiveEnv = "LOCALCLUSTER_TEST_ARCHIVE"

func TestKilledOwnerOfAHubLeavesNothing(t *testing.T) {
	if !needNode(t) {
		return
	}
	archive := webArchive(t)
	t.Setenv("TMPDIR", shortTempDir(t))
	t.Setenv(archiveEnv, archive)
	before := traces(t)
	helper, line, _ := startHelper(t, "hub")
	fields := strings.Fields(line)
	if len(fields) != 4 {
		t.Fatalf("unexpected line %q", line)
	}
	config, err := clientcmd.BuildConfigFromFlags("", fields[0])
	if err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	webPods(t, clients, 1)
	pid, err := strconv.Atoi(fields[2])
	if err != nil {
		t.Fatal(err)
	}
	left := made(t, pid, filepath.Base(fields[1]), fields[3])
	if len(left.processes) < 9 {
		t.Errorf("only %d processes of the node were found", len(left.processes))
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "the end of all that the killed process started", func() error {
		sweep() // like every start of a cluster
		if found := left.stillThere(t, before); len(found) > 0 {
			return errors.New(strings.Join(found, "\n"))
		}
		if _, err := os.Stat(fields[1]); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the node's directory is there: %w", err)
		}
		return nil
	})
}
