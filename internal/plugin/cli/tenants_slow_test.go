//go:build unix && slow

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// TestATenantSeesAndChangesNothingOfAnother runs the commands of a user with role edit in one of three namespaces of three members, against all of them.
func TestATenantSeesAndChangesNothingOfAnother(t *testing.T) {
	b := &bench{TB: t, file: clientcmdapi.NewConfig()}
	const members, namespaces = 3, 3
	servers := make([]*localcluster.ControlPlane, members)
	clients := make([]client.Client, members)
	for m := range members {
		server, err := localcluster.StartControlPlane(t.Context(), localcluster.Options{Name: fmt.Sprint("member-", m)})
		b.must(err)
		t.Cleanup(func() { _ = server.Stop() })
		servers[m], clients[m] = server, b.client(server)
		b.must(clients[m].Create(t.Context(), crd.VmGroupCRD()))
		await.NoError(t, "VmGroups to be served", func() error { return clients[m].List(t.Context(), &v1alpha1.VmGroupList{}) })
		b.rolesOf(clients[m])
		for n := range namespaces {
			b.tenant(clients[m], fmt.Sprint("shop-", n), fmt.Sprintf("tenant-%d-%d", m, n), secretOf(m, n))
		}
	}
	own := 0
	for m := range members {
		for n := range namespaces {
			b.context(fmt.Sprint("of-", n), b.user(servers[m], fmt.Sprintf("tenant-%d-%d", m, n)))
		}
		for n := range namespaces {
			b.file.CurrentContext = fmt.Sprint("of-", n)
			for other := range namespaces {
				own += b.tenantRuns(m, n, other)
			}
		}
	}
	for m := range members {
		for n := range namespaces {
			b.tenantChanged(clients[m], m, n)
		}
	}
	if want := members * namespaces * 5; own < want {
		t.Errorf("only %d outputs show the tenant's own group, want %d", own, want)
	}
}

// secretOf is a word that only the objects of a tenant have.
func secretOf(m, n int) string { return fmt.Sprintf("secret-%d-%d", m, n) }

// tenantRuns runs commands of a tenant against a namespace of its member, and returns how many outputs show the tenant's own group.
func (b *bench) tenantRuns(m, n, namespace int) (own int) {
	b.Helper()
	for _, line := range []string{
		"get -n shop-%d", "get -A", "describe web -n shop-%d", "events -n shop-%d", "events web -n shop-%d", "plan web -n shop-%d --replicas 9", "rollout status web -n shop-%d -w=false",
		"rollout pause web -n shop-%d", "pause web -n shop-%d", "keep --all -n shop-%d",
		"templates -n shop-%d", "quota -n shop-%d",
	} {
		line = strings.ReplaceAll(line, "%d", fmt.Sprint(namespace))
		out, err := b.run(strings.Fields(line)...)
		if err != nil {
			out += err.Error()
		}
		for _, word := range foreignWord.FindAllString(out, -1) {
			if word != secretOf(m, n) {
				b.Errorf("tenant %d-%d, %s: it shows %s:\n%s", m, n, line, word, out)
			}
		}
		if namespace == n && strings.Contains(out, secretOf(m, n)) {
			own++
		}
		if namespace != n && ExitCode(err) != cluster.ExitUnreachable {
			b.Errorf("tenant %d-%d, %s: exit code %d:\n%s", m, n, line, ExitCode(err), out)
		}
	}
	return own
}

// foreignWord matches the words of all tenants.
var foreignWord = regexp.MustCompile(`secret-\d-\d`)

// tenantChanged checks that the tenant's verbs changed its group.
func (b *bench) tenantChanged(in client.Client, m, n int) {
	b.Helper()
	g := &v1alpha1.VmGroup{}
	b.must(in.Get(b.Context(), client.ObjectKey{Namespace: fmt.Sprint("shop-", n), Name: "web"}, g))
	if g.Annotations[v1alpha1.PausedAnnotation] != "true" || g.Annotations[v1alpha1.ReleaseAnnotation] != string(g.UID) || !g.Spec.UpdateStrategy.Paused {
		b.Errorf("tenant %d-%d could not change its own group: %v, %+v", m, n, g.Annotations, g.Spec.UpdateStrategy)
	}
}

// rolesOf creates the roles of teams.
func (b *bench) rolesOf(in client.Client) {
	b.Helper()
	root, err := assets.Root()
	b.must(err)
	content, err := os.ReadFile(filepath.Join(root, "config", "member-rbac", "roles", "vmgroups.yaml"))
	b.must(err)
	for _, document := range strings.Split(string(content), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		b.must(yaml.Unmarshal([]byte(document), role))
		b.must(in.Create(b.Context(), role))
	}
	b.must(in.Create(b.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-events"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "list", "watch"}}}, // as role view of Kubernetes
	}))
}

// tenant creates a namespace with a group whose template, events and status have a word, and a user who can edit there.
func (b *bench) tenant(in client.Client, namespace, user, word string) {
	b.Helper()
	b.must(in.Create(b.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: word}}
	b.must(in.Create(b.Context(), g))
	g.Status.VCenter, g.Status.VMs = word, []v1alpha1.VMStatus{{Name: word}}
	g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "TemplateNotFound", Message: word, LastTransitionTime: metav1.Now()}}
	g.Status.Conditions = append(g.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "TemplateNotFound", Message: word, LastTransitionTime: metav1.Now()})
	g.Status.ObservedGeneration = g.Generation
	b.must(in.Status().Update(b.Context(), g))
	b.must(in.Create(b.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "event"}, Reason: "VMsCreated", Message: word, Type: corev1.EventTypeNormal, LastTimestamp: metav1.NewTime(time.Now()),
		InvolvedObject: corev1.ObjectReference{Kind: "VmGroup", Namespace: namespace, Name: "web", UID: g.UID},
	}))
	for _, role := range []string{"vmgroup-operator-vmgroups-view", "vmgroup-operator-vmgroups-edit", "reads-events"} {
		b.must(in.Create(b.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		}))
	}
}
