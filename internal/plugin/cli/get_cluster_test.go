//go:build unix && !fast

package cli

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

func TestGetShowsWhatTheUserMayRead(t *testing.T) {
	i := newInterventions(t)
	other := i.newGroup("api")
	i.make(i.hub, other)
	i.make(i.hub, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: "intervened", Name: "reads"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"vm.codeconnect.vmworld.com"}, Resources: []string{"vmgroups"}, Verbs: []string{"get", "list"}}},
	})
	i.make(i.hub, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "intervened", Name: "reads"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reads"}, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: "tenant"}},
	})
	for name, about := range map[string]client.Object{"web": i.group, "api": other, "pod": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "intervened", Name: "web"}}} {
		kind, message := "VmGroup", "Created 2 VMs."
		switch name {
		case "pod":
			kind, message = "Pod", "Created 2 VMs of a Pod."
		case "api":
			message = "Created 2 VMs of the other."
		}
		i.make(i.hub, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "intervened", Name: "of-" + name}, Reason: "VMsCreated", Message: message, Type: corev1.EventTypeNormal, LastTimestamp: metav1.Now(),
			InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "intervened", Name: about.GetName(), UID: about.GetUID()},
		})
	}
	here, system := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "here"}, Spec: v1alpha1.MemberClusterSpec{KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "here"}}}, &corev1.Namespace{}
	i.make(i.hub, here)
	i.must(i.hub.Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system))
	here.Status.ClusterUID = string(system.UID)
	i.must(i.hub.Status().Update(t.Context(), here))
	file, err := clientcmd.Load(i.user(i.servers.hub, "tenant"))
	i.must(err)
	file.Contexts[file.CurrentContext].Namespace = "intervened"
	content, err := clientcmd.Write(*file)
	i.must(err)
	i.context("tenant", content)
	i.file.Contexts["tenant"].Namespace = "intervened"
	i.file.CurrentContext = "tenant"
	for line, test := range map[string]struct {
		has, lacks []string
		code       int
	}{
		"get":                      {has: []string{"NAME ", "api", "web", "? unknown"}, lacks: []string{"NAMESPACE"}},
		"get web":                  {has: []string{"web"}, lacks: []string{"api"}},
		"get -l app=web":           {has: []string{"web"}, lacks: []string{"api"}},
		"get --ascii --no-headers": {has: []string{"? unknown"}, lacks: []string{"NAME"}},
		"get -l app=none":          {has: []string{"No VmGroup was found."}},
		"get -o name":              {has: []string{"vmgroup.vm.codeconnect.vmworld.com/api\nvmgroup.vm.codeconnect.vmworld.com/web\n"}},
		"get --not-ready -o jsonpath={.items[*].metadata.name}": {has: []string{"api web"}},
		"get none":                       {has: []string{`no VmGroup "none"`}, code: cluster.ExitUsage},
		"get web -A":                     {has: []string{"Choose VmGroups"}, code: cluster.ExitUsage},
		"get -l (":                       {has: []string{"--selector"}, code: cluster.ExitUsage},
		"get -A":                         {has: []string{"lacks a right"}, lacks: []string{"web"}, code: cluster.ExitUnreachable},
		"get -n default":                 {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"get --context edge":             {has: []string{"does not serve VmGroups"}, code: cluster.ExitUsage},
		"vcenter list":                   {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"get -A --context hub":           {has: []string{"NAMESPACE ", "intervened   web"}},
		"describe web":                   {has: []string{"VmGroup intervened/web   context tenant", "? unknown", "NotYetReconciled", "cannot read events"}, lacks: []string{"Served", "api", "56y"}},
		"describe web --hub-context hub": {has: []string{"Served    not known: The user of context"}},
		"describe web --context hub -n intervened --hub-context hub": {has: []string{"Served    not known: the hub has no shard map"}},
		"describe none":                            {has: []string{`no VmGroup "none"`}, code: cluster.ExitUsage},
		"describe web -n default":                  {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"describe web --context hub -n intervened": {has: []string{"ago   VMsCreated   Created 2 VMs."}, lacks: []string{"of a Pod", "of the other"}},
		"events":                                         {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"events --context hub -n intervened":             {has: []string{"VMsCreated   web", "Created 2 VMs of the other."}, lacks: []string{"of a Pod"}},
		"events web -A --context hub":                    {has: []string{"Choose a VmGroup"}, code: cluster.ExitUsage},
		"events web -o name --context hub -n intervened": {has: []string{"event/of-web\n"}, lacks: []string{"other"}},
		"events web --context hub":                       {has: []string{"No event was found"}},
		"get --all-members --context hub": {
			has: []string{"MEMBER   NAMESPACE ", "here     intervened   api", "here     intervened   web", "intervened: no context of the kubeconfig reaches it"}, code: cluster.ExitUnreachable,
		},
		"get --all-members --context hub -l app=none": {has: []string{"No VmGroup was found."}, code: cluster.ExitUnreachable},
		"get --all-members":                           {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"get web --all-members":                       {has: []string{"Choose VmGroups"}, code: cluster.ExitUsage},
		"get --all-members -o name --context hub":     {has: []string{"--output shows"}, code: cluster.ExitUsage},
		"events --all-members --context hub": {
			has: []string{"MEMBER   LAST-SEEN ", "intervened/web   Created 2 VMs.", "intervened: no context of the kubeconfig reaches it"}, lacks: []string{"of a Pod"}, code: cluster.ExitUnreachable,
		},
		"events --all-members":       {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"events web --all-members":   {has: []string{"Choose a VmGroup"}, code: cluster.ExitUsage},
		"events -w -o name":          {has: []string{"--output shows"}, code: cluster.ExitUsage},
		"events -w":                  {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"describe none -w":           {has: []string{`no VmGroup "none"`}, code: cluster.ExitUsage},
		"status":                     {has: []string{"lacks a right"}, code: cluster.ExitUnreachable},
		"status --context hub":       {has: []string{"Hub hub   0 replicas", "? VCenter intervened   NotReported", "Next: "}, code: cluster.ExitNotWell},
		"vcenter list --context hub": {has: []string{"intervened   Unknown"}},
	} {
		t.Run(line, func(t *testing.T) {
			out, err := i.run(strings.Fields(line)...)
			if err != nil {
				out += err.Error()
			}
			if ExitCode(err) != test.code {
				t.Errorf("exit code %d, want %d", ExitCode(err), test.code)
			}
			for _, part := range test.has {
				if !strings.Contains(out, part) {
					t.Errorf("it does not say %q:\n%s", part, out)
				}
			}
			for _, part := range test.lacks {
				if strings.Contains(out, part) {
					t.Errorf("it says %q:\n%s", part, out)
				}
			}
		})
	}
}
