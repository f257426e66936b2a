package policy

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// The account does not see the folder in between. The remaining path must not count as the whole path: a grant for another
// place would cover it.
func TestAPathOfWhichAPartIsNotKnownMatchesNoPatternOfPaths(t *testing.T) {
	const path = "/DC1/…/debian"
	ask := func(patterns ...string) []Denial {
		return CheckReferences("vc", []v1alpha1.Grant{{MemberClusters: []string{"*"}, Templates: patterns}}, Requester{Member: "m", Namespace: "n"},
			[]Reference{{Field: "spec.template", Kind: TemplateReference, Given: "debian", Path: path}})
	}
	for _, pattern := range []string{"/DC1/*", "/DC1/…/debian", "*/debian", "/DC1/debian"} {
		denials := ask(pattern)
		if len(denials) != 1 || !strings.Contains(denials[0].Message, "does not see what is above it") || !strings.Contains(denials[0].Message, "System.Read") {
			t.Errorf("%s: %+v", pattern, denials)
		}
	}
	for _, pattern := range []string{"debian", "deb*", "*"} {
		if denials := ask(pattern); len(denials) != 0 {
			t.Errorf("%s: %+v", pattern, denials)
		}
	}
	found := namesOf("debian", path)
	if found.allows(namePatternsOf([]string{"/DC1/*"})) {
		t.Error("a policy allows it by a path")
	}
	if _, denied := found.denies(namePatternsOf([]string{"/DC1/vm/old/*"})); !denied {
		t.Error("it may be at a path that a policy denies")
	}
	if _, denied := found.denies(namePatternsOf([]string{"windows-*"})); denied {
		t.Error("its name is known")
	}
}
