package quota_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// overtaken has group one granted its claim in the first of its two totals. Then a rival takes all but one VM of the last. The order of the
// totals is that of their keys, which depend on the policies' names. It returns the rival with its claim, and the policy of the first total.
func overtaken(d *desk, store *quotatest.Store, one quota.Claim, name string) (rival *desk, two quota.Claim, first string) {
	d.t.Helper()
	set := func(each, all int32) *policy.Set {
		return policy.Compile([]v1alpha1.VmGroupPolicy{
			{ObjectMeta: metav1.ObjectMeta{Name: "each"}, Spec: vms(v1alpha1.QuotaNamespace, each)},
			{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: vms(v1alpha1.QuotaMatch, all)},
		})
	}
	d.set = set(50, 50)
	d.ask(one, quota.Waiting)
	d.flush()
	first = store.Stored()[totalsOf(store, one.Key())[0]].State.Of
	last, two := set(3, 50), claim("two", "m", 0, 2, 1)
	if strings.Contains(first, "each") {
		last, two = set(50, 3), in("b", two)
	}
	rival = newDeskUnder(d.t, store, last)
	d.set = last
	rival.grant(two)
	return rival, two, first
}

func TestWhatOneTotalGrantedIsGivenBackWhenTheOtherRefuses(t *testing.T) {
	stories := map[bool]bool{}
	for _, name := range []string{"all", "every", "total", "whole", "sum"} {
		store := &quotatest.Store{}
		d := newDeskUnder(t, store, nil)
		one := claim("one", "m", 0, 2, 1)
		rival, two, first := overtaken(d, store, one, name)
		stories[strings.Contains(first, "each")] = true
		for range 4 {
			if needs, some := d.Surplus(of("one"), policy.Usage{}, one.Wants); some {
				d.GiveBack(of("one"), policy.Usage{}, needs, one.Epoch)
			}
			d.Ask(t.Context(), one)
			d.flush()
		}
		d.ask(one, quota.Refused)
		if keys := totalsOf(store, of("one")); len(keys) != 0 {
			t.Errorf("%s: refused, and it keeps what %v granted", first, keys)
		}
		before := store.Version()
		for range 5 {
			d.Surplus(of("one"), policy.Usage{}, one.Wants)
			d.ask(one, quota.Refused)
			d.flush()
		}
		if store.Version() != before {
			t.Errorf("%s: %d writes for a group that is refused", first, store.Version()-before)
		}
		rival.GiveBack(of("two"), policy.Usage{}, policy.Usage{}, two.Epoch)
		rival.flush()
		clear(d.notified)
		if store.Tell(d.Observe); d.notified[of("one")] == 0 {
			t.Errorf("%s: the group was not notified of the free room", first)
		}
		d.grant(one)
	}
	if len(stories) != 2 {
		t.Errorf("both orders are to be tried, and only one was: the namespace's total comes first %v", stories)
	}
}

// In the pass that receives the refusal it returns the quota that it no longer needs. The rest of its old wish must follow, and only
// a notice triggers the next pass.
func TestAGroupThatShrankBeforeItIsRefusedKeepsNothingOfWhatOneTotalGranted(t *testing.T) {
	store := &quotatest.Store{}
	d := newDeskUnder(t, store, nil)
	overtaken(d, store, claim("one", "m", 0, 3, 1), "all")
	one := claim("one", "m", 0, 2, 1) // spec was edited, and still exceeds the last total
	d.notified[of("one")] = 1
	for range 8 {
		if d.notified[of("one")] > 0 {
			delete(d.notified, of("one"))
			if needs, some := d.Surplus(of("one"), policy.Usage{}, one.Wants); some {
				d.GiveBack(of("one"), policy.Usage{}, needs, one.Epoch)
			}
			d.Ask(t.Context(), one)
		}
		d.flush()
	}
	if keys := totalsOf(store, of("one")); len(keys) != 0 {
		t.Errorf("a group without VMs is refused, and is charged %+v", store.Entries()[of("one")].Usage)
	}
	if d.notified[of("one")] > 0 {
		t.Error("the group is notified without end")
	}
	d.ask(one, quota.Refused)
}

// Memory refuses immediately if it can, so that no claim is made in vain.
func TestATotalThatRefusesKeepsTheOthersFromGranting(t *testing.T) {
	store := &quotatest.Store{}
	d := newDeskUnder(t, store, twoTotals(4, 4))
	d.grant(claim("one", "m", 0, 3, 1))
	before := store.Version()
	answer := d.ask(in("b", claim("two", "m", 0, 3, 1)), quota.Refused)
	if len(answer.Violations) != 1 || answer.Violations[0].Policy != "all" {
		t.Errorf("refused by %+v", answer.Violations)
	}
	answer = d.ask(claim("three", "m", 0, 5, 1), quota.Refused)
	if len(answer.Violations) != 2 {
		t.Errorf("refused by %+v, want both", answer.Violations)
	}
	if d.flush(); len(totalsOf(store, of("three"))) != 0 || store.Version() > before+1 {
		t.Errorf("a group that is refused is entered in %v", totalsOf(store, of("three")))
	}
}

// The ledger is from a backup and misses group one. Its usage is entered in the write in which group two returns as much, so
// the total is as high as before.
func TestAGroupThatIsRefusedIsToldOfRoomAlsoWhenItsOwnEntryRises(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("two", "m", 0, 3, 1))
	one := claim("one", "m", 2, 4, 1)
	d.groups = []quota.Group{one.Group, group("two", "m", 3)}
	d.ask(one, quota.Refused)
	d.groups[1] = group("two", "m", 1)
	d.GiveBack(of("two"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	clear(d.notified)
	if d.flush(); d.notified[of("one")] == 0 {
		t.Error("the group was not notified of the free room")
	}
	d.grant(one)
}
