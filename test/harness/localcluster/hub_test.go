//go:build unix && e2e

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/codeconnect/vmgroup-operator/hack/image/oci"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// webImage is testdata/web.
const webImage = "docker.io/local/web:1"

// webArchive builds the image that the tests run in Pods.
func webArchive(t *testing.T) string {
	t.Helper()
	program, archive := filepath.Join(t.TempDir(), "web"), filepath.Join(t.TempDir(), "web.tar")
	build := progress.GoBuild{
		Label: "building testdata/web", Output: program, Packages: []string{"./testdata/web"},
	}
	if err := build.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	bundle, err := oci.New(webImage, oci.Image{Programs: []oci.Program{{Source: program, Path: "/web"}}})
	if err == nil {
		err = bundle.WriteArchive(archive)
	}
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// webPods are a Deployment in a namespace that enforces the restricted profile, and a Service with a NodePort.
func webPods(t *testing.T, clients kubernetes.Interface, replicas int32) *corev1.Service {
	t.Helper()
	labels := map[string]string{"app": "web"}
	_, err := clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A controller creates the account a moment later, and Pods of a Deployment would only come after a pause.
	await.NoError(t, "the namespace's service account", func() error {
		_, err := clients.CoreV1().ServiceAccounts("web").Get(t.Context(), "default", metav1.GetOptions{})
		return err
	})
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				SecurityContext: &corev1.PodSecurityContext{
					RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				Containers: []corev1.Container{{
					Name: "web", Image: webImage, ImagePullPolicy: corev1.PullNever,
					Env: []corev1.EnvVar{{Name: "POD", ValueFrom: &corev1.EnvVarSource{
						FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"},
					}}},
					ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{
						HTTPGet: &corev1.HTTPGetAction{Path: "/who", Port: intstr.FromInt32(8080)},
					}},
					SecurityContext: &corev1.SecurityContext{
						AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
						Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					},
				}},
			}},
		},
	}
	if _, err := clients.AppsV1().Deployments("web").Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	service, err := clients.CoreV1().Services("web").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: labels, Ports: []corev1.ServicePort{
			{Port: 80, TargetPort: intstr.FromInt32(8080)},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "the Pods to be Ready", func() error {
		object, err := clients.AppsV1().Deployments("web").Get(t.Context(), "web", metav1.GetOptions{})
		if err == nil && object.Status.ReadyReplicas != replicas {
			err = fmt.Errorf("%d of %d Pods are Ready: %s", object.Status.ReadyReplicas, replicas, describePods(t.Context(), clients))
		}
		return err
	})
	return service
}

func describePods(ctx context.Context, clients kubernetes.Interface) string {
	pods, err := clients.CoreV1().Pods("web").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, pod := range pods.Items {
		all = append(all, fmt.Sprintf("%s %s %+v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses))
	}
	return strings.Join(all, "; ")
}

// fetch is a GET from this machine.
func fetch(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	response, err := direct.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, response.Status, body)
	}
	return string(body), err
}

// startTestHub starts a hub with the image of the tests, in a separate temporary directory.
func startTestHub(t *testing.T) (*Hub, kubernetes.Interface) {
	t.Helper()
	archive := webArchive(t)
	began := time.Now()
	h, err := StartHub(t.Context(), HubOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the hub was up after %s", time.Since(began).Round(100*time.Millisecond))
	t.Cleanup(func() {
		if err := h.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := h.LoadImage(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(h.Config)
	if err != nil {
		t.Fatal(err)
	}
	return h, clients
}

// needNode is for tests that need a machine that can run a node. On other machines, only a separate test reports the
// reason, once.
func needNode(t *testing.T) bool {
	t.Helper()
	if err := Preflight(); err != nil {
		t.Logf("this machine cannot run a hub: %v", err)
		if _, startErr := StartHub(t.Context(), HubOptions{}); startErr == nil || !strings.Contains(startErr.Error(), err.Error()) {
			t.Errorf("StartHub does not say so: %v", startErr)
		}
		return false
	}
	return true
}

func TestHubRunsPods(t *testing.T) {
	if !needNode(t) {
		return
	}
	t.Setenv("TMPDIR", shortTempDir(t))
	before := traces(t)
	h, clients := startTestHub(t)
	service := webPods(t, clients, 2)

	t.Run("this machine reaches Services by both addresses, and Pods", func(t *testing.T) { reachFromOutside(t, h, clients, service) })
	t.Run("Pods reach this machine, Services, and nothing else", func(t *testing.T) { reachFromInside(t, h, service) })
	t.Run("logs come through the API server", func(t *testing.T) {
		log, err := clients.CoreV1().Pods("web").GetLogs(somePod(t, clients), &corev1.PodLogOptions{}).DoRaw(t.Context())
		if err != nil || !strings.Contains(string(log), "serving") {
			t.Errorf("the log of a Pod is %q, %v", log, err)
		}
	})

	t.Run("a container's process can be stopped and ended", func(t *testing.T) { endProcess(t, h, clients) })
	t.Run("containers outlive kubelet and containerd", func(t *testing.T) { crashNode(t, h, clients) })
	t.Run("containers outlive the loss of containerd's state", func(t *testing.T) { loseState(t, h, clients) })

	left := made(t, h.node.space.pid(), h.node.cgroup, h.node.net.link())
	t.Logf("%d processes of the node; all of the hub takes %d MiB", len(left.processes), memory(t, h))
	began := time.Now()
	if err := errors.Join(h.Stop(), h.Stop()); err != nil {
		t.Fatal(err)
	}
	t.Logf("the hub was down after %s", time.Since(began).Round(100*time.Millisecond))
	for _, what := range left.stillThere(t, before) {
		t.Errorf("left behind: %s", what)
	}
}

func reachFromOutside(t *testing.T, h *Hub, clients kubernetes.Interface, service *corev1.Service) {
	pods, err := clients.CoreV1().Pods("web").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(pods.Items))
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
		if got, err := fetch(t.Context(), "http://"+pod.Status.PodIP+":8080/who"); got != pod.Name {
			t.Errorf("Pod %s at its address answers %q, %v", pod.Name, got, err)
		}
	}
	for _, address := range []string{
		service.Spec.ClusterIP, fmt.Sprintf("%s:%d", h.NodeAddress(), service.Spec.Ports[0].NodePort),
	} {
		await.NoError(t, "an answer from a Pod at "+address, func() error {
			got, err := fetch(t.Context(), "http://"+address+"/who")
			if err == nil && !slices.Contains(names, got) {
				t.Errorf("%s answers %q, want one of %q", address, got, names)
			}
			return err
		})
	}
}

func reachFromInside(t *testing.T, h *Hub, service *corev1.Service) {
	listener, err := net.Listen("tcp", net.JoinHostPort(h.HostAddress(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "this machine") }),
	}}
	server.Start()
	defer server.Close()
	call := func(target string) (string, error) {
		return fetch(t.Context(), "http://"+service.Spec.ClusterIP+"/call?url="+url.QueryEscape(target))
	}
	if got, err := call(server.URL); got != "this machine" {
		t.Errorf("a Pod got %q, %v from this machine", got, err)
	}
	if got, err := call("http://" + service.Spec.ClusterIP + "/who"); err != nil || got == "" {
		t.Errorf("a Pod got %q, %v from its own Service", got, err)
	}
	member, err := StartControlPlane(t.Context(), Options{Name: "member", Address: h.HostAddress()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := member.Stop(); err != nil {
			t.Error(err)
		}
	}()
	// The Pod does not have the certificate authority, and so reports an unknown certificate.
	if _, err := call(member.Config.Host); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a Pod that calls a member at %s: %v", member.Config.Host, err)
	}
	if out, err := h.NodeCommand(t.Context(), "ip", "route", "show", "default"); err != nil || len(out) > 0 {
		t.Errorf("the node has a way to foreign addresses: %s, %v", out, err)
	}
}

// shortTempDir is removed at the end of the test. It is not one of testing's, whose removal would hide a cluster's
// leftovers.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(filepath.Join(dir, "vmgroup-ports")); err != nil && !errors.Is(err, os.ErrNotExist) {
			_ = os.RemoveAll(filepath.Join(dir, "vmgroup-ports"))
		}
		if err := os.Remove(dir); err != nil {
			t.Errorf("something is left in the temporary directory: %v", err)
		}
	})
	return dir
}
