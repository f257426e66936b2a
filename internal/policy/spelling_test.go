package policy_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// spell writes a text in one of the spellings of users and the API.
func spell(d *rand.Rand, text string) string {
	if d.IntN(2) == 0 {
		text = inventoryname.Shown(text)
	}
	var out strings.Builder
	for _, r := range text {
		if d.IntN(3) == 0 {
			r = []rune(strings.ToUpper(string(r)))[0]
		}
		out.WriteRune(r)
	}
	return out.String()
}

// No spelling of a template or a pattern makes a difference: denied and ungranted templates stay refused.
func TestNoSpellingGetsWhatIsDeniedOrNotGranted(t *testing.T) {
	t.Parallel()
	d := rand.New(rand.NewPCG(42, 4))
	requester := policy.Requester{Member: "m1", Namespace: "dev"}
	names := []string{"win/11", "win11", "linux-12", `a\b`, "50%", "win%2f11"}
	asAPI := strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")
	denied, refusedGrant := 0, 0
	for range 20_000 {
		name, pattern := asAPI.Replace(names[d.IntN(len(names))]), asAPI.Replace(names[d.IntN(len(names))])
		path := "/DC0/vm/" + []string{"", "x/", "x%2fy/"}[d.IntN(3)] + name
		object := path
		if d.IntN(2) == 0 {
			object = strings.TrimPrefix(path, "/DC0/vm/")
		}
		given, written := spell(d, object), spell(d, pattern)
		same := name == pattern || inventoryname.Fold(written) == inventoryname.Fold(inventoryname.Shown(name)) ||
			inventoryname.Fold(inventoryname.Shown(written)) == inventoryname.Fold(inventoryname.Shown(name))
		spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: given, Replicas: new(int32(1))}
		set := policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{Templates: &v1alpha1.PolicyTemplates{Deny: []string{written}}}}})
		is := len(set.Evaluate(requester, spec, path)) > 0
		if is != same {
			t.Fatalf("template %q at %q under deny %q: refused is %v, want %v", given, path, written, is, same)
		}
		// Without vCenter's inventory no template is refused that is allowed once it is found.
		if !is && len(set.Evaluate(requester, spec, "")) > 0 {
			t.Fatalf("template %q at %q under deny %q is refused while its path is unknown", given, path, written)
		}
		allow := policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{Templates: &v1alpha1.PolicyTemplates{Allow: []string{written}}}}})
		if allowed := len(allow.Evaluate(requester, spec, path)) == 0; allowed != same || allowed && len(allow.Evaluate(requester, spec, "")) > 0 {
			t.Fatalf("template %q at %q under allow %q: allowed is %v, want %v", given, path, written, allowed, same)
		}
		grants := []v1alpha1.Grant{{MemberClusters: []string{"m1"}, Templates: []string{written}}}
		refs := []policy.Reference{{Field: "spec.template", Kind: policy.TemplateReference, Given: given, Path: path}}
		if granted := len(policy.CheckReferences("vc", grants, requester, refs)) == 0; granted != same {
			t.Fatalf("template %q at %q under grant %q: granted is %v, want %v", given, path, written, granted, same)
		}
		if is {
			denied++
		} else {
			refusedGrant++
		}
	}
	if denied < 1000 || refusedGrant < 1000 {
		t.Errorf("%d denied, %d not granted: too few to say anything", denied, refusedGrant)
	}
}

// The vSphere Client shows a folder 2026/01 below golden. A policy that forbids its templates contains the name that the client
// shows.
func TestADenyPatternForbidsWhatIsInAFolderWithASlashInItsName(t *testing.T) {
	t.Parallel()
	const path = "/DC0/vm/golden/2026%2f01/linux"
	for pattern, want := range map[string]bool{
		"/DC0/vm/golden/2026/01/*": true, "*/2026/01/*": true, "*/2026%2f01/*": true, "/dc0/vm/Golden/2026%2F01/*": true, "*/01/*": true, "*/golden/*": true,
		"*/2026/02/*": false, "2026/01/*": false, "*/gold/*": false,
	} {
		templates := &v1alpha1.PolicyTemplates{Deny: []string{pattern}}
		set := policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{Templates: templates}}})
		spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "linux", Replicas: new(int32(1))}
		if denied := len(set.Evaluate(policy.Requester{Member: "m", Namespace: "n"}, spec, path)) > 0; denied != want {
			t.Errorf("%q forbids it: %v, want %v", pattern, denied, want)
		}
		templates.Allow, templates.Deny = templates.Deny, nil
		set = policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{Templates: templates}}})
		exact := pattern == "*/2026%2f01/*" || pattern == "/dc0/vm/Golden/2026%2F01/*" || pattern == "*/golden/*"
		if allowed := len(set.Evaluate(policy.Requester{Member: "m", Namespace: "n"}, spec, path)) == 0; allowed != exact {
			t.Errorf("%q allows it: %v, want %v", pattern, allowed, exact)
		}
	}
}

func TestGrantsTakeNamesAsTheyAreShown(t *testing.T) {
	t.Parallel()
	const path = "/DC0/network/v920 10.33.157.0%2f24"
	for pattern, want := range map[string]bool{
		"v920 10.33.157.0/24": true, "v920 10.33.157.0%2f24": true, "V920 10.33.157.0%2F24": true, "v920*": true, "*/24": true, "*10.33.*/24": true,
		"/DC0/network/v920 10.33.157.0/24": true, "/dc0/network/v920*": true, "/DC0/network/*%2F24": true,
		"24": false, "v920 10.33.157.0": false, "/DC0/network/*/24": false, "v921*": false,
	} {
		grants := []v1alpha1.Grant{{MemberClusters: []string{"m"}, Networks: []string{pattern}}}
		refs := []policy.Reference{{Field: "f", Kind: policy.NetworkReference, Given: "v920 10.33.157.0/24", Path: path}}
		if got := len(policy.CheckReferences("vc", grants, policy.Requester{Member: "m"}, refs)) == 0; got != want {
			t.Errorf("%q grants it: %v, want %v", pattern, got, want)
		}
	}
}
