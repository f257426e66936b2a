//go:build !fast

package offers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// used are quotas with a fixed usage.
type used []policy.Use

func (u used) Uses(context.Context, policy.Requester) []policy.Use { return u }

// offering is a hub with two VCenters, of which one grants linux templates to member m, and a policy that denies some.
func offering(t *testing.T) (*Offers, *fake.Server) {
	t.Helper()
	vc := fake.New(fake.Options{Now: time.Now})
	for _, path := range []string{"/DC0/vm/linux-12", "/DC0/vm/linux-secret", "/DC0/vm/windows", "/DC0/vm/a/linux-twice", "/DC0/vm/b/linux-twice", "/DC0/vm/linux%2fslash"} {
		vc.AddTemplate(vsphere.Template{Name: path[strings.LastIndexByte(path, '/')+1:], Path: path, HasSnapshot: path == "/DC0/vm/linux-12"})
	}
	granted := v1alpha1.VCenterSpec{Grants: []v1alpha1.Grant{{MemberClusters: []string{"m"}, Templates: []string{"linux*"}}}}
	hub := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects([]client.Object{
		&v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "north"}, Spec: granted}, &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "away"}, Spec: granted},
		&v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "south"}},
		&v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.VmGroupPolicySpec{
			Templates: &v1alpha1.PolicyTemplates{Deny: []string{"*secret"}}, Defaults: &v1alpha1.PolicyDefaults{VCenter: "north"},
		}},
	}...).Build()
	return &Offers{Hub: hub, Servers: fake.Servers{"north": vc}, Policies: &observe.Sources{Hub: hub}, Quotas: used(nil)}, vc
}

func TestANamespaceLearnsTheTemplatesThatItCanUse(t *testing.T) {
	r, _ := offering(t)
	ask := func(member, vcenter string) inquiry.Namespace {
		t.Helper()
		answer, err := r.Of(t.Context(), policy.Requester{Member: member, Namespace: "dev"}, vcenter, "")
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if got := ask("m", ""); !slices.Equal(got.VCenters, []string{"away", "north"}) || got.VCenter != "north" {
		t.Errorf("VCenters %q, by default %q", got.VCenters, got.VCenter)
	}
	want := []string{"/DC0/vm/a/linux-twice", "/DC0/vm/b/linux-twice", "linux/slash", "linux-12 linked"}
	var got []string
	for _, template := range ask("m", "north").Templates {
		text := template.Name
		if template.Linked {
			text += " linked"
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("templates %q, want %q", got, want)
	}
	for vcenter, why := range map[string]string{"south": "does not grant anything", "away": "no connection", "nowhere": "does not exist"} {
		if got := ask("m", vcenter); len(got.Templates) > 0 || !strings.Contains(got.Unknown, why) {
			t.Errorf("%s: %+v", vcenter, got)
		}
	}
	if got := ask("other", ""); len(got.VCenters) > 0 {
		t.Errorf("a member without grants learns %q", got.VCenters)
	}
	if got := ask("other", "north"); len(got.Templates) > 0 || !strings.Contains(got.Unknown, "does not grant anything") {
		t.Errorf("a member without grants learns %+v", got)
	}
}

// Every page begins behind the last path of the one before.
func TestTemplatesComeInPages(t *testing.T) {
	r, vc := offering(t)
	for i := range 250 {
		vc.AddTemplate(vsphere.Template{Name: fmt.Sprint("linux-p", i), Path: fmt.Sprintf("/DC0/vm/p/linux-p%03d", i)})
	}
	seen, pages, after := map[string]bool{}, 0, ""
	for more := true; more; pages++ {
		answer, err := r.Of(t.Context(), policy.Requester{Member: "m", Namespace: "dev"}, "north", after)
		if err != nil {
			t.Fatal(err)
		}
		got, _, ok := inquiry.Parse[inquiry.Namespace]([]string{answer.Warning()})
		if !ok || len(got.Templates) == 0 {
			t.Fatalf("page %d: %+v", pages, got)
		}
		for _, template := range got.Templates {
			if seen[template.Path] {
				t.Errorf("%s is listed twice", template.Path)
			}
			seen[template.Path] = true
		}
		more, after = got.More, got.Templates[len(got.Templates)-1].Path
	}
	if len(seen) != 254 || pages < 3 {
		t.Errorf("%d templates in %d pages", len(seen), pages)
	}
}

func TestUnreadTemplatesAndQuotasAreNotAbsent(t *testing.T) {
	r, vc := offering(t)
	set := policy.Compile([]v1alpha1.VmGroupPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: v1alpha1.VmGroupPolicySpec{
		Mode: v1alpha1.PolicyWarn, Quota: &v1alpha1.PolicyQuota{VMs: new(int32(5)), CPU: new(int64(9)), Scope: v1alpha1.QuotaMatch},
	}}})
	by := policy.Requester{Member: "m", Namespace: "dev"}
	quotas := set.Quotas(by)
	r.Quotas = used{{Policy: quotas[0]}, {Policy: quotas[0], Used: &policy.Usage{VMs: 3, CPU: 10}}}
	vc.SetCatalogRead(false)
	unread, err := r.Of(t.Context(), by, "north", "")
	if err != nil || unread.Unknown == "" || len(unread.Templates) > 0 {
		t.Errorf("%+v, %v", unread, err)
	}
	got, err := r.Of(t.Context(), by, "", "")
	if err != nil || len(got.Quotas) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if q := got.Quotas[0]; q.VMs.Used != nil || q.VMs.Hard != 5 || !q.Together || !q.Warns || q.Policy != "q" {
		t.Errorf("%+v", q)
	}
	if q := got.Quotas[1]; *q.VMs.Used != 3 || q.VMs.Hard != 5 || *q.CPU.Used != 10 || q.CPU.Hard != 9 || q.Memory != nil || q.Groups != nil {
		t.Errorf("%+v", q)
	}
}
