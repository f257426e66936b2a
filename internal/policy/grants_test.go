package policy

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"*", "", true},
		{"*", "anything/at all", true},
		{"linux-*", "linux-12", true},
		{"linux-*", "linux-", true},
		{"linux-*", "my-linux-12", false},
		{"linux", "linux", true},
		{"linux", "linux2", false},
		{"", "", true},
		{"", "x", false},
		{"/DC0/vm/*/debian", "/DC0/vm/a/b/debian", true},
		{"a*a", "a", false},
		{"a*b*c", "abc", true},
		{"a*b*c", "acb", false},
		{"a*bc*c", "abc", false},
		{"[a]?", "a", false},
	} {
		if got := Matches(c.pattern, c.s); got != c.want {
			t.Errorf("Matches(%q, %q) = %v, want %v", c.pattern, c.s, got, c.want)
		}
	}
}

func TestMatchesItselfAndWhatAStarStandsFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z/*.-]{0,8}`)
		parts := rapid.SliceOfN(word, 1, 4).Draw(t, "parts")
		fill := rapid.StringMatching(`[a-z/.-]{0,5}`).Draw(t, "fill")
		pattern := strings.Join(parts, "*")
		if s := strings.ReplaceAll(pattern, "*", fill); !Matches(pattern, s) {
			t.Fatalf("pattern %q does not match %q", pattern, s)
		}
	})
}

func TestGrants(t *testing.T) {
	dev := &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "dev"}}
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Nonsense"}}}
	template := func(path string) []Reference {
		return []Reference{{Field: "spec.template", Kind: TemplateReference, Given: "t", Path: path}}
	}
	for _, c := range []struct {
		story     string
		grants    []v1alpha1.Grant
		member    string
		labels    map[string]string
		refs      []Reference
		vcenterOK bool
		denials   int
	}{
		{story: "no grants: the hub's own member may use everything", member: "local", refs: template("/DC/vm/x"), vcenterOK: true},
		{story: "no grants: another member may use nothing", member: "team-a", refs: template("/DC/vm/x"), denials: 1},
		{
			story:  "any grant ends the hub's own privilege",
			grants: []v1alpha1.Grant{{MemberClusters: []string{"team-*"}, Templates: []string{"*"}}},
			member: "local", refs: template("/DC/vm/x"), denials: 1,
		},
		{
			story:  "the name of a template is enough for a name pattern",
			grants: []v1alpha1.Grant{{MemberClusters: []string{"team-*"}, Templates: []string{"linux-*"}}},
			member: "team-a", refs: template("/DC/vm/images/linux-12"), vcenterOK: true,
		},
		{
			story:  "a folder called like the pattern does not help a template inside it",
			grants: []v1alpha1.Grant{{MemberClusters: []string{"team-*"}, Templates: []string{"linux-*"}}},
			member: "team-a", refs: template("/DC/vm/linux-12/windows"), vcenterOK: true, denials: 1,
		},
		{
			story:  "an unresolved reference is not granted by its spelling",
			grants: []v1alpha1.Grant{{MemberClusters: []string{"*"}, Templates: []string{"t"}}},
			member: "team-a", refs: template(""), vcenterOK: true, denials: 1,
		},
		{
			story:  "namespace labels decide",
			grants: []v1alpha1.Grant{{MemberClusters: []string{"*"}, NamespaceSelector: dev, Templates: []string{"*"}}},
			member: "team-a", labels: map[string]string{"stage": "prod"}, refs: template("/DC/vm/x"), denials: 1,
		},
		{
			story:  "namespace labels match",
			grants: []v1alpha1.Grant{{MemberClusters: []string{"*"}, NamespaceSelector: dev, Templates: []string{"*"}}},
			member: "team-a", labels: map[string]string{"stage": "dev"}, refs: template("/DC/vm/x"), vcenterOK: true,
		},
		{
			story:  "a selector that cannot be parsed grants nothing",
			grants: []v1alpha1.Grant{{MemberClusters: []string{"*"}, NamespaceSelector: broken, Templates: []string{"*"}}},
			member: "team-a", refs: template("/DC/vm/x"), denials: 1,
		},
		{
			story: "grants add up, kinds do not mix",
			grants: []v1alpha1.Grant{
				{MemberClusters: []string{"team-a"}, Templates: []string{"linux"}},
				{MemberClusters: []string{"team-*"}, Datastores: []string{"fast*"}},
				{MemberClusters: []string{"team-b"}, Networks: []string{"*"}},
			},
			member: "team-a",
			refs: []Reference{
				{Kind: TemplateReference, Path: "/DC/vm/linux"},
				{Kind: DatastoreReference, Path: "/DC/datastore/fast1"},
				{Kind: NetworkReference, Path: "/DC/network/fast1"},
				{Kind: ResourcePoolReference, Path: "/DC/host/linux"},
			},
			vcenterOK: true, denials: 2,
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			who := Requester{Member: c.member, Namespace: "ns", NamespaceLabels: c.labels}
			if got := CheckVCenter("vc", c.grants, who) == nil; got != c.vcenterOK {
				t.Errorf("may use the vCenter: %v, want %v", got, c.vcenterOK)
			}
			if got := CheckReferences("vc", c.grants, who, c.refs); len(got) != c.denials {
				t.Errorf("denials %v, want %d", got, c.denials)
			}
		})
	}
}
