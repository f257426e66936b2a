package vmgroup

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// rollsUnder is a group of so many VMs in a namespace whose quota is that large, and a function that runs passes. After each pass, vCenter has no more
// VMs than the quota, and no more than the ledger granted.
func rollsUnder(t *testing.T, replicas, limit int32) (r *rig, rounds func(int)) {
	t.Helper()
	r = rolls(t, replicas)
	store, ledger, _ := r.underQuota(limit)
	rounds = func(n int) {
		t.Helper()
		for range n {
			r.inform(r.Reconciler)
			r.mustPass()
			flush(t, ledger)
			r.vcenter.Finish(-1)
			r.now = r.now.Add(2 * time.Second)
			there, granted := int64(len(r.vcenter.VMs())), store.Entries()[localKey(r.group().UID)].Usage.VMs
			if there > int64(limit) || there > granted {
				t.Fatalf("vCenter has %d VMs, %d are granted and the quota is %d: %s", there, granted, limit, words(r.group().Status.Conditions))
			}
			if c := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionPolicyCompliant); c.Reason == v1alpha1.ReasonQuotaExceeded {
				t.Fatalf("an update that needs no more VMs is reported as a breach of the quota: %s", c.Message)
			}
		}
	}
	rounds(4)
	return r, rounds
}

func TestAnUpdateNeverHasMoreVMsThanTheQuota(t *testing.T) {
	one, two, all := intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("100%")
	for story, c := range map[string]struct {
		replicas, limit int32
		strategy        v1alpha1.UpdateStrategy
	}{
		"the quota is full, and one VM may be missing": {3, 3, v1alpha1.UpdateStrategy{MaxUnavailable: &one}},
		"the quota is full, and all may be missing":    {3, 3, v1alpha1.UpdateStrategy{MaxSurge: &all, MaxUnavailable: &all}},
		"there is room for one of two":                 {4, 5, v1alpha1.UpdateStrategy{MaxSurge: &two}},
	} {
		t.Run(story, func(t *testing.T) {
			r, rounds := rollsUnder(t, c.replicas, c.limit)
			old := r.group().Status.UpdateRevision
			r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template, s.UpdateStrategy = "debian-13", &c.strategy })
			rounds(60)
			says(t, r.group(), v1alpha1.ConditionUpToDate, "True", v1alpha1.ReasonUpToDate)
			if left := r.are(old); len(left) > 0 || len(r.vcenter.VMs()) != int(c.replicas) {
				t.Errorf("of the old revision are left %v, of %d VMs", left, len(r.vcenter.VMs()))
			}
		})
	}
}

// A guest that shuts down slowly counts until its VM is removed. Its successor waits.
func TestTheSuccessorOfAVMThatLeavesWaitsForItsRoom(t *testing.T) {
	r, rounds := rollsUnder(t, 3, 3)
	one := intstr.FromInt32(1)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.UpdateStrategy = "debian-13", &v1alpha1.UpdateStrategy{MaxUnavailable: &one}
	})
	rounds(1)
	for range 3 { // another replica takes over, and requests from the ledger anew
		r.memory = memory{}
		r.gate.epoch.Number++
		rounds(2)
	}
	rounds(50)
	says(t, r.group(), v1alpha1.ConditionUpToDate, "True", v1alpha1.ReasonUpToDate)
}

// A shape that a policy refuses in the middle of an update claims no quota. That is no permission for more VMs.
func TestAnUpdateThatIsRefusedOnItsWayClonesNothingBeyondWhatIsGranted(t *testing.T) {
	for after := 1; after <= 5; after++ {
		t.Run(fmt.Sprintf("after %d passes", after), func(t *testing.T) {
			two := intstr.FromInt32(2)
			r, rounds := rollsUnder(t, 2, 3)
			r.edit(func(s *v1alpha1.VmGroupSpec) {
				s.Template, s.UpdateStrategy = "debian-13", &v1alpha1.UpdateStrategy{MaxSurge: &two, MaxUnavailable: &two}
			})
			rounds(after)
			policy := onlyTemplates("debian-13")
			policy.Quota = quotaVMs(3).Quota
			r.setPolicy(policy)
			r.edit(withTemplate("debian-12"))
			rounds(20)
		})
	}
}
