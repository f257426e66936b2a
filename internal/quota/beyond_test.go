package quota_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// beyond is the claim of a group that has some VMs, of which fewer were admitted, and wants to keep all of them.
func beyond(has, admitted int32, epoch int64) quota.Claim {
	c := claim("one", "m", has, has, epoch)
	c.Granted = policy.UsageOf(spec(admitted))
	return c
}

// Existing VMs without a grant reduce the room of others. They are granted only if there is room for them.
func TestWhatExistsBeyondItsGrantCountsAndIsNotGrantedForThat(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 4))
	d.grant(claim("one", "m", 0, 3, 1))
	for epoch := int64(1); epoch <= 3; epoch++ { // also for the next holder of the group
		d.ask(beyond(5, 3, epoch), quota.Refused)
		d.flush()
		d.ask(beyond(5, 3, epoch), quota.Refused)
	}
	if used := store.Entries()[of("one")].Usage.VMs; used != 5 {
		t.Errorf("five VMs exist, and %d count", used)
	}
	d.ask(claim("two", "m", 0, 1, 1), quota.Refused)
	before := store.Version()
	for range 5 {
		d.ask(beyond(5, 3, 3), quota.Refused)
		d.flush()
	}
	if store.Version() != before {
		t.Errorf("%d writes for a group that is refused", store.Version()-before)
	}
	d.set = compile(vms(v1alpha1.QuotaNamespace, 5))
	d.grant(beyond(5, 3, 3))
	d.ask(claim("one", "m", 5, 5, 3), quota.Granted)
}

// A survey counts usage in status without a record on the hub. Being counted is no grant.
func TestASurveyGrantsNothingBeyondTheRecord(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	counted := group("one", "m", 5)
	counted.Granted = policy.UsageOf(spec(3))
	d.groups = []quota.Group{counted}
	d.ask(claim("two", "m", 0, 1, 1), quota.Waiting)
	d.flush()
	d.ask(claim("two", "m", 0, 1, 1), quota.Refused)
	c := claim("one", "m", 5, 6, 1)
	c.Granted = counted.Granted
	d.ask(c, quota.Refused)
	d.grant(beyond(5, 3, 1))
}
