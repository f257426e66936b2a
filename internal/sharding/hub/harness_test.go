//go:build unix && !fast

package hub

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// patience is the timeout of all waits; a loaded machine with the race detector is slow.
const patience = 90 * time.Second

// cluster is shared by all tests of the package.
var cluster = localcluster.Share("hub")

func TestMain(m *testing.M) { os.Exit(cluster.Run(m)) }

// fixture is a separate namespace on the real API server.
type fixture struct {
	admin     kubernetes.Interface
	namespace string
	// config is of a user with exactly the permissions in rbac.go.
	config *rest.Config
}

var fixtures atomic.Int64

func newFixture(t *testing.T, name string) *fixture {
	t.Helper()
	// Nothing deletes namespaces here, and a test can run several times.
	namespace := fmt.Sprintf("%s-%d", name, fixtures.Add(1))
	server := cluster.Get(t)
	admin, err := kubernetes.NewForConfig(server.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = admin.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	user := "replica-of-" + namespace
	grant(t, admin, namespace, user)
	return &fixture{admin: admin, namespace: namespace, config: server.UserConfig(t, user)}
}

// grant grants user the permissions of the markers in rbac.go.
func grant(t *testing.T, admin kubernetes.Interface, namespace, user string) {
	t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: markedRules(t)}
	if _, err := admin.RbacV1().Roles(namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
	}
	if _, err := admin.RbacV1().RoleBindings(namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The API server's authorizer learns of a Role from its own watch.
	config := cluster.Get(t).UserConfig(t, user)
	await.NoError(t, "the rights of "+user, func() error {
		c := newClient(t, config, Options{Namespace: namespace})
		return c.Do(t.Context(), protocol.ReadRing{}).Err
	})
}

func markedRules(t *testing.T) []rbacv1.PolicyRule {
	t.Helper()
	file, err := os.Open("rbac.go")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var rules []rbacv1.PolicyRule
	for lines := bufio.NewScanner(file); lines.Scan(); {
		marker, found := strings.CutPrefix(lines.Text(), "// +kubebuilder:rbac:")
		if !found {
			continue
		}
		values := map[string][]string{}
		for part := range strings.SplitSeq(marker, ",") {
			key, value, _ := strings.Cut(part, "=")
			values[key] = strings.Split(strings.Trim(value, `"`), ";")
		}
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: values["groups"], Resources: values["resources"], Verbs: values["verbs"], ResourceNames: values["resourceNames"],
		})
	}
	if len(rules) == 0 {
		t.Fatal("rbac.go has no markers")
	}
	return rules
}

func newClient(t *testing.T, config *rest.Config, options Options) *Client {
	t.Helper()
	c, err := New(config, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.transport.CloseIdleConnections)
	return c
}

// proxied returns a proxy in front of the API server and a client that uses it.
func proxied(t *testing.T, f *fixture, options Options) (*localcluster.APIProxy, *Client) {
	t.Helper()
	proxy, err := cluster.Get(t).NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	kubeconfig, err := proxy.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	options.Namespace = f.namespace
	return proxy, newClient(t, config, options)
}

func exampleLease(session string) protocol.Lease {
	return protocol.Lease{
		Session: session, Boot: "boot-1", Host: "manager-0", State: protocol.Ready,
		Settings: exampleSettings(), Renewals: 7, Published: map[string]string{"demand": `{"vc":3}`},
	}
}

func exampleSettings() ring.Settings {
	return ring.Settings{Buckets: 4, Hash: ring.HashName, Validity: 8 * time.Second, Patience: 12*time.Second + time.Millisecond}
}

func exampleRing() ring.Ring {
	return ring.Ring{
		Settings: exampleSettings(), Generation: 1, Rebuilt: 1, Sequence: 1,
		Leader: ring.Lock{Holder: "s1", Number: 1}, Buckets: []ring.Lock{{Holder: "s1", Number: 1}, {}, {}, {}},
	}
}

// must runs an Op that has to succeed for the test to continue.
func must(t *testing.T, c *Client, op protocol.Op, want protocol.Outcome) protocol.Result {
	t.Helper()
	result := c.Do(t.Context(), op)
	if result.Outcome != want {
		t.Fatalf("%s: outcome %d (%v), want %d", describe(op), result.Outcome, result.Err, want)
	}
	if told := result.Err != nil; told != (want == protocol.Unknown || want == protocol.Refused || want == protocol.Invalid) {
		t.Errorf("%s: outcome %d comes with the error %v", describe(op), result.Outcome, result.Err)
	}
	return result
}
