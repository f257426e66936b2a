//go:build unix && e2e

package localcluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// start starts a control plane that ends with the test.
func start(t *testing.T, o localcluster.Options) *localcluster.ControlPlane {
	t.Helper()
	began := time.Now()
	cluster, err := localcluster.StartControlPlane(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("control plane ready after %s", time.Since(began).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// patience is the timeout of each wait, for a busy machine.
const patience = 2 * time.Minute

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func TestControlPlane(t *testing.T) {
	cluster := start(t, localcluster.Options{Name: "one", Audit: true})
	admin := client(t, cluster.Config)
	maps := admin.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(t.Context(), configMap("kept"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	t.Run("has the pinned version", func(t *testing.T) {
		version, err := admin.Discovery().ServerVersion()
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(version.GitVersion, "v1.") || version.Minor == "" {
			t.Errorf("version %+v cannot be parsed by clients", version)
		}
	})
	t.Run("user kubeconfig", func(t *testing.T) { checkUser(t, cluster, admin) })
	t.Run("counts requests", func(t *testing.T) { checkRequests(t, cluster, admin) })
	t.Run("restarts keep data and address", func(t *testing.T) { checkRestarts(t, cluster, admin) })

	dir := cluster.Dir()
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Stop, stat %s: %v; want it to be removed", dir, err)
	}
	if err := cluster.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

// checkUser uses another identity, forbidden at first, and finds it in the audit log.
func checkUser(t *testing.T, cluster *localcluster.ControlPlane, admin kubernetes.Interface) {
	kubeconfig, err := cluster.UserKubeconfig("jane", "readers")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(kubeconfig, []byte(cluster.Dir())) {
		t.Error("the kubeconfig names files")
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	maps := client(t, config).CoreV1().ConfigMaps("default")
	if _, err := maps.Get(t.Context(), "kept", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("before RBAC allows it: %v, want Forbidden", err)
	}
	// Not "view": the controller manager fills aggregated roles.
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		},
	}
	if _, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "readers"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "readers"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "readers"}},
	}
	bindings := admin.RbacV1().ClusterRoleBindings()
	if _, err := bindings.Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "the role to hold", func() error {
		_, err := maps.Get(t.Context(), "kept", metav1.GetOptions{})
		return err
	})
	await.NoError(t, "jane in the audit log", func() error {
		audit, err := os.ReadFile(cluster.AuditLog())
		if err == nil && !bytes.Contains(audit, []byte(`"username":"jane"`)) {
			err = errors.New("jane is not in the audit log")
		}
		return err
	})
}

func checkRequests(t *testing.T, cluster *localcluster.ControlPlane, admin kubernetes.Interface) {
	before, err := cluster.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const writes = 7
	// Not ConfigMaps: the API server creates some itself, possibly later.
	secrets := admin.CoreV1().Secrets("default")
	for range writes {
		// Rejected ones count as well, under their own code.
		_, err := secrets.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "counted"}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		if _, err := secrets.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "dry-"},
		}, dry); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := secrets.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	// The API server counts a request after it has sent the response.
	await.NoError(t, "the requests to be counted", func() error {
		after, err := cluster.Requests(t.Context())
		if err != nil {
			return err
		}
		grown := localcluster.Since(before, after)
		created := grown[localcluster.RequestKey{Verb: "POST", Resource: "secrets", Code: "201"}]
		refused := grown[localcluster.RequestKey{Verb: "POST", Resource: "secrets", Code: "409"}]
		listed := grown[localcluster.RequestKey{Verb: "LIST", Resource: "secrets", Code: "200"}]
		sum := localcluster.Total(grown, func(k localcluster.RequestKey) bool {
			return k.Writes() && k.Resource == "secrets"
		})
		if created != 1 || refused != writes-1 || listed < 1 || sum != writes {
			return fmt.Errorf("created %d, refused %d, listed %d, %d writes: %v", created, refused, listed, sum, grown)
		}
		return nil
	})
}

func checkRestarts(t *testing.T, cluster *localcluster.ControlPlane, admin kubernetes.Interface) {
	maps := admin.CoreV1().ConfigMaps("default")
	get := func(ctx context.Context) error {
		_, err := maps.Get(ctx, "kept", metav1.GetOptions{})
		return err
	}
	if err := cluster.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context()); err == nil {
		t.Fatal("a stopped API server answers")
	}
	if err := cluster.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context()); err != nil {
		t.Fatalf("after a restart: %v", err)
	}
	if err := cluster.StartAPIServer(t.Context()); err == nil {
		t.Fatal("a running API server was started again")
	}

	cluster.KillAPIServer()
	cluster.KillEtcd()
	if err := cluster.StartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := cluster.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := get(t.Context()); err != nil {
		t.Fatalf("after both were killed: %v", err)
	}
}

func TestFailedStartQuotesTheLogAndLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	_, err := localcluster.StartControlPlane(t.Context(), localcluster.Options{
		APIServerArgs: []string{"--no-such-flag=1"},
	})
	if err == nil || !strings.Contains(err.Error(), "unknown flag: --no-such-flag") {
		t.Fatalf("got %v, want the API server's own words", err)
	}
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "vmgroup-cluster-") {
			t.Errorf("%s was left behind", entry.Name())
		}
	}
}
