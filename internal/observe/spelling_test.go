package observe

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// Whatever a user writes for a template, the cloned template is granted, and no policy denies it. Names of folders and templates are such that one is
// written like the path of another.
func TestNoSpellingOfATemplateGetsOneThatIsDeniedOrNotGranted(t *testing.T) {
	vcenter := fake.New(fake.Options{Now: time.Now})
	// Names that begin with linux are granted, names that end in /secret are denied, by the names that the client shows.
	clonable := map[string]bool{
		"/DC0/vm/linux": true, "/DC0/vm/linux%2fopen": true, "/DC0/vm/linux%2fsecret": false, "/DC0/vm/secret": false, "/DC0/vm/linux%2fdir/secret": false,
		"/DC0/vm/linuxes/open": false, "/DC0/vm/x/linux": true, "/DC0/vm/x%2flinux": false, "/DC0/vm/x/linux%252fsecret": true, "/DC0/vm/LINUX-2%2fsecret": false, "/DC0/vm/dir/Linux-2": true,
	}
	for path := range clonable {
		vcenter.AddTemplate(vsphere.Template{Name: path[strings.LastIndexByte(path, '/')+1:], Path: path})
	}
	paths := slices.Sorted(maps.Keys(clonable))
	d := rand.New(rand.NewPCG(42, 5))
	requester := policy.Requester{Member: "m", Namespace: "dev"}
	got, refused := map[string]int{}, 0
	for range 20_000 {
		path := paths[d.IntN(len(paths))]
		parts := strings.Split(path[1:], "/")
		text := strings.Join(parts[d.IntN(len(parts)):], "/")
		if d.IntN(4) == 0 {
			text = "/" + text
		}
		text = respell(d, text)
		grants := []v1alpha1.Grant{{MemberClusters: []string{"m"}, Templates: []string{respell(d, "linux*")}}}
		set := policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{Templates: &v1alpha1.PolicyTemplates{Deny: []string{respell(d, "*%2fsecret")}}}}})
		spec := v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: text, Replicas: new(int32(1))}
		names := resolver{vcenter: "default", inventory: vcenter, grants: grants, requester: requester}.resolve(spec)
		found := names.Template.Path
		if found == "" || names.Blocked != nil || len(set.Evaluate(requester, spec, found)) > 0 {
			refused++
			continue
		}
		if !clonable[found] {
			t.Fatalf("%q gets %s under grant %q", text, found, grants[0].Templates[0])
		}
		got[found]++
	}
	for path, may := range clonable {
		if may && got[path] == 0 {
			t.Errorf("no spelling resolves to %s", path)
		}
	}
	if refused < 5000 {
		t.Errorf("%d refused: too few to say anything", refused)
	}
}

// respell writes a text in another case, and unescapes the escapes of the API.
func respell(d *rand.Rand, text string) string {
	for _, sign := range [][2]string{{"%2f", "/"}, {"%2F", "/"}, {"%25", "%"}} {
		if d.IntN(2) == 0 {
			text = strings.ReplaceAll(text, sign[0], sign[1])
		}
	}
	if d.IntN(2) == 0 {
		text = strings.ToUpper(text)
	}
	return text
}
