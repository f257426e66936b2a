package quota_test

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// updating is the claim of a group that has the usage of its spec, and requests up to so many VMs more.
func updating(holds, replicas, surge int32) quota.Claim {
	c := claim("one", "m", holds, replicas, 1)
	for k := int32(1); k <= surge; k++ {
		c.Surges = append(c.Surges, policy.UsageOf(spec(replicas+k)))
	}
	return c
}

// surges asks until the claim is answered.
func (d *desk) surges(c quota.Claim) quota.Answer {
	d.t.Helper()
	for range 5 {
		answer := d.Ask(d.t.Context(), c)
		if answer.Outcome != quota.Waiting {
			return answer
		}
		d.flush()
	}
	d.t.Fatal("the claim waits for ever")
	return quota.Answer{}
}

func TestAnUpdateGetsAsManyVMsMoreAsThereIsRoomFor(t *testing.T) {
	for story, c := range map[string]struct {
		limit, surge int32
		want         int
	}{
		"room for all": {9, 3, 3}, "for some": {6, 3, 2}, "for none": {4, 3, 0}, "none is asked for": {9, 0, 0},
	} {
		store := &quotatest.Store{}
		d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, c.limit))
		d.grant(claim("one", "m", 0, 4, 1))
		answer := d.surges(updating(4, 4, c.surge))
		if answer.Outcome != quota.Granted || answer.Surge != c.want || (answer.Short == "") != (answer.Surge == int(c.surge)) {
			t.Errorf("%s: %+v, want %d of %d more", story, answer, c.want, c.surge)
		}
		if used := store.Entries()[of("one")].Usage.VMs; used != 4+int64(c.want) {
			t.Errorf("%s: the ledger has %d VMs", story, used)
		}
		if len(answer.Violations) > 0 {
			t.Errorf("%s: what spec needs is said to break %v", story, answer.Violations)
		}
	}
}

// A group that wants more for its update claims it in each pass, also if its spec exceeds the admitted usage.
func TestAnUpdateThatQuotasRefuseCostsNothingAndIsToldOfRoom(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 7))
	d.grant(claim("other", "m", 0, 2, 1))
	d.grant(claim("one", "m", 0, 5, 1))
	c := updating(4, 5, 2) // 5 were granted, 4 are still held
	if answer := d.surges(c); answer.Outcome != quota.Granted || answer.Surge != 0 || !strings.Contains(answer.Short, `VmGroupPolicy "q"`) {
		t.Fatalf("answered %+v", answer)
	}
	reads, writes := store.Requests()
	clear(d.notified)
	for range 10 {
		if answer := d.Ask(t.Context(), c); answer.Outcome != quota.Granted || answer.Surge != 0 {
			t.Fatalf("answered %+v", answer)
		}
		if _, some := d.Surplus(of("one"), c.Holds, c.Wants); some {
			t.Fatal("what spec needs is to be given back")
		}
		d.flush()
	}
	if r, w := store.Requests(); r != reads || w != writes || len(d.notified) > 0 {
		t.Errorf("%d reads, %d writes, notified %v", r-reads, w-writes, d.notified)
	}
	d.GiveBack(of("other"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.flush()
	store.Tell(d.Observe)
	if d.notified[of("one")] == 0 {
		t.Error("the group was not notified of the room for its update")
	}
	if answer := d.surges(c); answer.Surge != 1 {
		t.Errorf("answered %+v", answer)
	}
}

func TestAnUpdateGoesOnWithoutMoreVMsWhileTheLedgerCannotBeAsked(t *testing.T) {
	d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaNamespace, 9))
	d.grant(claim("one", "m", 0, 4, 1))
	d.set = nil
	if answer := d.Ask(t.Context(), updating(4, 4, 1)); answer.Outcome != quota.Granted || answer.Surge != 0 || answer.Short == "" || answer.Problem == "" {
		t.Errorf("answered %+v", answer)
	}
}
