package quota_test

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/metrics/metricstest"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// TestTheFullestNamespaceIsReported: another replica that only watches the ledgers, as a new leader does, reports the same.
func TestTheFullestNamespaceIsReported(t *testing.T) {
	memory, storage := v1alpha1.Amount("64Gi"), v1alpha1.Amount("1Ti")
	limits := vms(v1alpha1.QuotaNamespace, 10)
	limits.Quota.Memory, limits.Quota.Storage = &memory, &storage
	store := &quotatest.Store{}
	d, watching := newDesk(t, store, limits), newDesk(t, store, limits)
	want := []quotametrics.Fill{{Policy: "q", Resource: "vms", Hard: 10}, {Policy: "q", Resource: "memory_bytes", Hard: 64 << 30}, {Policy: "q", Resource: "storage_bytes", Hard: 1 << 40}}
	if got := d.Fills(); !slices.Equal(got, want) {
		t.Errorf("an empty quota: %v", got)
	}
	d.grant(claim("a", "m", 0, 3, 1))
	large := claim("b", "other", 0, 7, 1)
	large.Spec.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 10}}
	large.Wants = policy.UsageOf(large.Spec)
	d.grant(large)
	want[0].Used, want[1].Used, want[2].Used = 7, 7<<30, 70<<30
	if got := d.Fills(); !slices.Equal(got, want) {
		t.Errorf("got %v, want the fuller namespace, %v", got, want)
	}
	store.Tell(watching.Observe)
	if got := watching.Fills(); !slices.Equal(got, want) {
		t.Errorf("a replica that watches: %v, want %v", got, want)
	}
}

func TestRequestsForAShareAreCountedByOutcome(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
	d.grant(claim("a", "m", 0, 4, 1)) // waits, and is granted
	d.ask(claim("b", "m", 0, 4, 1), quota.Refused)
	d.set = nil
	d.ask(claim("c", "m", 0, 1, 1), quota.Unavailable)
	got := metricstest.Gather(t, d.registry)
	for outcome, least := range map[string]float64{"waiting": 1, "granted": 1, "refused": 1, "unavailable": 1} {
		if n := got[`vmgroup_quota_asks_total{outcome="`+outcome+`"}`]; n < least {
			t.Errorf("%s: %v", outcome, n)
		}
	}
	if got["vmgroup_quota_ledger_writes_total"] < 1 {
		t.Errorf("no write was counted: %v", got)
	}
}
