//go:build unix

package tenancy

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestWhatAStatusShowsAsAdmittedGivesNoVM: the attacker's API server shows, with each group, a larger admission
// than the hub's.
func TestWhatAStatusShowsAsAdmittedGivesNoVM(t *testing.T) {
	w := shared.enter(t)
	for _, story := range []struct {
		name, reason string
		// lie is the false admission of a group that has two VMs.
		lie func(hostileapi.Object)
	}{
		{"beyond a quota", v1alpha1.ReasonQuotaExceeded, func(o hostileapi.Object) {
			hostileapi.Set(o, 9, "spec", "replicas")
			hostileapi.Set(o, 9, "status", "admitted", "replicas")
		}},
		{"larger than a maximum", v1alpha1.ReasonPolicyViolated, func(o hostileapi.Object) {
			hostileapi.Set(o, 3, "spec", "replicas")
			hostileapi.Set(o, 64, "spec", "cpu")
			hostileapi.Set(o, hostileapi.Object{"replicas": 3, "cpu": 64, "memory": 1, "template": template}, "status", "admitted")
		}},
		{"from a denied template", v1alpha1.ReasonPolicyViolated, func(o hostileapi.Object) {
			hostileapi.Set(o, 3, "spec", "replicas")
			hostileapi.Set(o, deniedTemplate, "spec", "template")
			hostileapi.Set(o, hostileapi.Object{"replicas": 3, "cpu": 1, "memory": 1, "template": deniedTemplate}, "status", "admitted")
		}},
		{"that never were, where nothing is on record", v1alpha1.ReasonQuotaExceeded, func(o hostileapi.Object) {
			hostileapi.Set(o, 9, "spec", "replicas")
			hostileapi.Set(o, hostileapi.Object{"replicas": 9}, "status")
		}},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			a := newAttacker(t, w, "spender", fresh("admitted"))
			five, group := int32(5), fresh("own")
			policy := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: a.member}, Spec: v1alpha1.VmGroupPolicySpec{
				Match:     v1alpha1.PolicyMatch{MemberClusters: []string{a.member}},
				Templates: &v1alpha1.PolicyTemplates{Allow: []string{"*" + template}},
				Quota:     &v1alpha1.PolicyQuota{VMs: &five, Scope: v1alpha1.QuotaNamespace},
			}}
			if err := w.Hub.Create(t.Context(), policy); err != nil {
				t.Fatal(err)
			}
			a.joined()
			a.apply(group, 2, false)
			folder := a.untilRunning("at first", group, 2).Status.Folder.Path
			var honest atomic.Bool
			lied := group
			if strings.Contains(story.name, "on record") {
				lied = fresh("new")
			}
			a.Lie(func(s hostileapi.Shown) bool {
				if s.Resource == groups && s.Name == lied && !honest.Load() {
					story.lie(s.Object)
				}
				return true
			})
			if lied != group {
				a.apply(lied, 1, false)
			}
			for round := range 3 {
				a.patch(lied, fmt.Sprintf(`{"metadata":{"labels":{"round":"%d"}}}`, round))
				a.until("it to be refused", lied, func(g *v1alpha1.VmGroup) bool {
					return strings.Contains(stack.Words(g.Status.Conditions), story.reason)
				})
			}
			all, err := w.Person.VMs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			own := 0
			for path, vm := range all {
				switch {
				case strings.HasPrefix(path, folder+"/") && vm.CPU == 1:
					own++
				case strings.HasPrefix(path, root+"/"+a.member+"/"):
					t.Errorf("%s was cloned, with %d CPUs", path, vm.CPU)
				}
			}
			if own != 2 {
				t.Errorf("%d VMs are in %s, want the 2 that were admitted", own, folder)
			}
			honest.Store(true)
			// The operator receives the truth with the next event. A write of its own status causes no event if the
			// API server has that status already.
			a.patch(lied, `{"metadata":{"labels":{"round":"honest"}}}`)
			a.scale(group, 3)
			a.untilRunning("once it says the truth", group, 3)
		})
	}
}
