package vcenter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestVMsOutsideOfTheRootAreNamed(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	many := vsphere.Strays{At: at, Count: 23}
	for i := range 20 {
		many.VMs = append(many.VMs, vsphere.Stray{Ref: vsphere.VMRef(fmt.Sprintf("vm-%d", i)), Path: "/DC0/vm/Discovered virtual machine/web-0"})
	}
	for story, c := range map[string]struct {
		found  vsphere.Strays
		status metav1.ConditionStatus
		reason string
		says   []string
	}{
		"no search yet": {found: vsphere.Strays{}, status: "True", reason: "Before"},
		"there is none": {found: vsphere.Strays{At: at}},
		"a replica of a backup product": {
			vsphere.Strays{At: at, Count: 1, VMs: []vsphere.Stray{{Ref: vsphere.VMRef("vm-7"), Path: "/DC0/vm/dr/k1-0_dr"}}}, "True", v1alpha1.ReasonOutsideOfRoot,
			[]string{`vm-7 ("/DC0/vm/dr/k1-0_dr")`, "delete it, or remove vmgroup.owner"}},
		"more than are named": {many, "True", v1alpha1.ReasonOutsideOfRoot, []string{"23 VMs", "and 3 more"}},
		"an account that does not see all": {
			vsphere.Strays{At: at, Limits: "the operator's account sees only the objects of vCenter that it has a role on"}, "Unknown", v1alpha1.ReasonNotLookedEverywhere,
			[]string{"There may be more: the operator's account sees only", "Read-only"}},
	} {
		t.Run(story, func(t *testing.T) {
			vc := &v1alpha1.VCenter{}
			vc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStrayVMs, Status: "True", Reason: "Before"}}
			s := newStatus(vc, look{health: vsphere.Health{Reachable: true, Complete: true}, strays: c.found}, at)
			got := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStrayVMs)
			if c.reason == "" {
				if got != nil {
					t.Errorf("there is %+v", got)
				}
				return
			}
			if got == nil || got.Status != c.status || got.Reason != c.reason {
				t.Fatalf("it is %+v, want %s/%s", got, c.status, c.reason)
			}
			for _, want := range c.says {
				if !strings.Contains(got.Message, want) {
					t.Errorf("%q does not have %q", got.Message, want)
				}
			}
		})
	}
}
