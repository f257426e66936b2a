//go:build e2e

package e2e

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// account is an identity of the operator: its ServiceAccount, in the clusters where it has that name.
type account struct {
	namespace, name string
	clusters        []*stack.Cluster
}

func (a account) user() string { return "system:serviceaccount:" + a.namespace + ":" + a.name }

// accounts are the operator's on the hub, and the two that it uses in members.
func accounts() []account {
	return []account{
		{namespace, "vmgroup-operator", []*stack.Cluster{world.hub.cluster}},
		{"vmgroup-operator", "vmgroup-operator-member", world.members},
		{"vmgroup-operator", "vmgroup-operator-bootstrap", world.members},
	}
}

// right is one permission; name is empty for all objects of the kind.
type right struct{ verb, group, resource, namespace, name string }

func (r right) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s.%s %s/%s", r.verb, r.resource, cmp.Or(r.group, "core"), cmp.Or(r.namespace, "*"), cmp.Or(r.name, "*")))
}

// covers reports whether a granted right allows an action.
func (r right) covers(done right) bool {
	return r.verb == done.verb && r.group == done.group && r.resource == done.resource &&
		(r.namespace == "" || r.namespace == done.namespace) && (r.name == "" || r.name == done.name)
}

// needed are rights that a run does not always use, with the reason.
var needed = map[right]string{
	{verb: "patch", group: "events.k8s.io", resource: "events"}:                                     "an event that happens again within minutes is patched",
	{verb: "patch", group: "events.k8s.io", resource: "events", namespace: metav1.NamespaceDefault}: "the same, of events about the hub's own kinds",
	{verb: "get", group: "coordination.k8s.io", resource: "leases", namespace: namespace}:           "a session is read when the answer to its write was lost",
	{verb: "update", group: "apiextensions.k8s.io", resource: "customresourcedefinitions", name: crd.VmGroupLimitsName}: "a later version may change it; " +
		"the next version of these stories changes VmGroup",
	{verb: "delete", resource: "configmaps", namespace: namespace}: "ledgers and records without an entry are removed some minutes after the last one was deleted",
	{verb: "get", group: "apiextensions.k8s.io", resource: "customresourcedefinitions", name: crd.VmGroupName}: "read before the VMs of a deleted group are destroyed; no group of " +
		"a member is deleted here before rights are compared",
	{verb: "get", group: v1alpha1.GroupVersion.Group, resource: "vmgroups"}:  "the API server asks for it of who writes a policy whose parameters are VmGroups",
	{verb: "list", group: v1alpha1.GroupVersion.Group, resource: "vmgroups"}: "the same, of who writes a binding that selects parameters",
}

// renews is true for the right to store the tokens of members. The members of these stories have no spec.credentials.renewal.
func (r right) renews() bool {
	return r.verb == "update" && r.resource == "secrets" && strings.HasPrefix(r.name, "vmgroup-operator-member-tokens-")
}

// grantedIsUsed compares the rights of each identity with its actions in the audit logs since the release was
// installed: it has no unused right, and no request of it was rejected.
func grantedIsUsed(t *testing.T) {
	for _, identity := range accounts() {
		var used, refused []right
		granted := make([]right, 0, 64)
		for _, cluster := range identity.clusters {
			granted = append(granted, grants(t, cluster, identity)...)
			did, tried := deeds(t, cluster.AuditLog(), identity.user())
			used, refused = append(used, did...), append(refused, tried...)
		}
		slices.SortFunc(granted, func(a, b right) int { return strings.Compare(a.String(), b.String()) })
		for _, g := range slices.Compact(granted) {
			if needed[g] == "" && !g.renews() && !uses(used, g) {
				t.Errorf("granted to %s and never used: %s", identity.name, g)
			}
		}
		for _, r := range refused {
			t.Errorf("tried by %s and refused: %s", identity.name, r)
		}
		t.Logf("%s: %d rights granted, %d different deeds", identity.name, len(slices.Compact(granted)), len(used))
	}
}

// untilGranted waits until a member's API server knows the operator's rights: otherwise early rejections would count
// as failed attempts.
func untilGranted(t *testing.T, member *stack.Cluster) {
	t.Helper()
	for _, identity := range accounts() {
		if !slices.Contains(identity.clusters, member) {
			continue
		}
		for _, g := range grants(t, member, identity) {
			resource, sub, _ := strings.Cut(g.resource, "/")
			await.Until(t, member.Name+" to know that "+identity.name+" may "+g.String(), func(ctx context.Context) (bool, error) {
				review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
					User: identity.user(),
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: g.namespace, Verb: g.verb, Group: g.group, Resource: resource, Subresource: sub, Name: g.name,
					},
				}}
				err := member.Create(ctx, review)
				return review.Status.Allowed, err
			})
		}
	}
}

// uses reports whether a right was used.
func uses(used []right, g right) bool {
	if slices.ContainsFunc(used, g.covers) {
		return true
	}
	other := g
	switch {
	case g.verb == "list":
		// If the API server cannot start a watch with the existing objects, an informer lists.
		other.verb = "watch"
	case g.verb == "create" && g.name != "":
		// An apply of a missing object also needs the right to create, and is audited as a patch.
		other.verb = "patch"
	default:
		return false
	}
	return slices.ContainsFunc(used, other.covers)
}

// grants are the rights that are bound to an identity in a cluster.
func grants(t *testing.T, cluster *stack.Cluster, identity account) []right {
	t.Helper()
	clusterRoles, roles := &rbacv1.ClusterRoleList{}, &rbacv1.RoleList{}
	clusterBindings, bindings := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	for _, list := range []client.ObjectList{clusterRoles, roles, clusterBindings, bindings} {
		must(t, cluster.List(t.Context(), list))
	}
	rules := map[string][]rbacv1.PolicyRule{}
	for _, r := range clusterRoles.Items {
		rules["ClusterRole "+r.Name] = r.Rules
	}
	for _, r := range roles.Items {
		rules["Role "+r.Namespace+"/"+r.Name] = r.Rules
	}
	var all []right
	for _, b := range clusterBindings.Items {
		if identity.in(b.Subjects) {
			all = append(all, rights(t, rules["ClusterRole "+b.RoleRef.Name], "")...)
		}
	}
	for _, b := range bindings.Items {
		if !identity.in(b.Subjects) {
			continue
		}
		key := "ClusterRole " + b.RoleRef.Name
		if b.RoleRef.Kind == "Role" {
			key = "Role " + b.Namespace + "/" + b.RoleRef.Name
		}
		all = append(all, rights(t, rules[key], b.Namespace)...)
	}
	if len(all) == 0 {
		t.Errorf("nothing is granted to %s in %s", identity.name, cluster.Name)
	}
	return all
}

func (a account) in(subjects []rbacv1.Subject) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == a.namespace && s.Name == a.name
	})
}

func rights(t *testing.T, rules []rbacv1.PolicyRule, namespace string) (all []right) {
	t.Helper()
	for _, rule := range rules {
		if slices.Contains(slices.Concat(rule.Verbs, rule.APIGroups, rule.Resources), "*") {
			t.Errorf("a rule has a wildcard: %v", rule)
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range append(rule.ResourceNames, make([]string, max(0, 1-len(rule.ResourceNames)))...) {
						all = append(all, right{verb, group, resource, namespace, name})
					}
				}
			}
		}
	}
	return all
}

// uninstalling reports whether the release was being uninstalled: Helm deletes the roles while the Pods end.
func uninstalling(moment time.Time) bool {
	for i, from := range world.uninstalled {
		if moment.After(from) && moment.Before(world.gone[i]) {
			return true
		}
	}
	return false
}

// deeds are the requests of a user in an audit log, and the rejected ones.
func deeds(t *testing.T, file, user string) (used, refused []right) {
	t.Helper()
	log, err := os.Open(file)
	must(t, err)
	defer func() { _ = log.Close() }()
	all, denied := map[right]bool{}, map[right]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		event := &auditv1.Event{}
		must(t, json.Unmarshal(lines.Bytes(), event))
		if event.User.Username != user || event.ObjectRef == nil {
			continue
		}
		o := event.ObjectRef
		if o.Subresource != "" {
			o.Resource += "/" + o.Subresource
		}
		done := right{event.Verb, o.APIGroup, o.Resource, o.Namespace, o.Name}
		if o.Resource == "namespaces" {
			done.namespace = ""
		}
		all[done] = true
		if event.Annotations["authorization.k8s.io/decision"] == "forbid" && !uninstalling(event.RequestReceivedTimestamp.Time) {
			denied[done] = true
		}
	}
	must(t, lines.Err())
	return slices.Collect(maps.Keys(all)), slices.Collect(maps.Keys(denied))
}
