package quota_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// twoTotals are a quota of each namespace and one over all of them.
func twoTotals(each, all int32) *policy.Set {
	return policy.Compile([]v1alpha1.VmGroupPolicy{
		{ObjectMeta: metav1.ObjectMeta{Name: "each"}, Spec: vms(v1alpha1.QuotaNamespace, each)},
		{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: vms(v1alpha1.QuotaMatch, all)},
	})
}

func newDeskUnder(t *testing.T, store quota.Store, set *policy.Set) *desk {
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 1))
	d.set = set
	return d
}

// collect is the leader's collection, and the resulting work.
func (d *desk) collect() {
	d.t.Helper()
	d.leading = true
	d.now = d.now.Add(31 * time.Second)
	d.Collect(d.t.Context())
	d.flush()
}

// refuse asks and flushes until the claim is refused.
func (d *desk) refuse(c quota.Claim) {
	d.t.Helper()
	for d.Ask(d.t.Context(), c).Outcome == quota.Waiting {
		d.flush()
	}
	d.ask(c, quota.Refused)
}

// in is the claim of a group of another namespace.
func in(namespace string, c quota.Claim) quota.Claim {
	c.Requester.Namespace = namespace
	return c
}

// totalsOf are the keys of the totals in which a group has an entry that counts.
func totalsOf(store *quotatest.Store, id quota.Key) (keys []string) {
	stored := store.Stored()
	for key, s := range stored {
		if _, ok := s.State.Entries()[id]; ok && key != "" && s.State.Set == stored[""].State.Set {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func TestAGroupInTwoTotalsGrowsOnceBothCoverIt(t *testing.T) {
	store := &quotatest.Store{}
	d := newDeskUnder(t, store, twoTotals(5, 5))
	one := claim("one", "m", 0, 3, 1)
	d.ask(one, quota.Waiting)
	d.flush()
	if uses := d.Uses(t.Context(), one.Requester); len(uses) != 2 || uses[0].Name() != "all" || *uses[0].Used != (policy.Usage{Groups: 1, VMs: 3, CPU: 3, Memory: 3}) || *uses[1].Used != (policy.Usage{}) {
		t.Errorf("uses %+v", uses)
	}
	if d.ask(one, quota.Waiting); len(totalsOf(store, of("one"))) != 1 {
		t.Errorf("the totals are not asked one after the other: %v", totalsOf(store, of("one")))
	}
	d.flush()
	if d.ask(one, quota.Granted); len(totalsOf(store, of("one"))) != 2 {
		t.Errorf("granted in %v", totalsOf(store, of("one")))
	}
	// Shrinking and deletion apply to both.
	d.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), one.Epoch)
	d.flush()
	for _, key := range totalsOf(store, of("one")) {
		if used := store.Stored()[key].State.Entries()[of("one")].Usage.VMs; used != 1 {
			t.Errorf("a total counts %d VMs of a group with 1", used)
		}
	}
	d.GiveBack(of("one"), policy.Usage{}, policy.Usage{}, one.Epoch)
	if d.flush(); len(totalsOf(store, of("one"))) != 0 {
		t.Errorf("left in %v", totalsOf(store, of("one")))
	}
}

func TestAGroupThatCountsInATotalNoMoreLeavesIt(t *testing.T) {
	store := &quotatest.Store{}
	d := newDeskUnder(t, store, twoTotals(5, 5))
	one := claim("one", "m", 0, 3, 1)
	d.grant(one)
	d.set = compile(vms(v1alpha1.QuotaNamespace, 5)) // other policies
	d.groups = []quota.Group{group("one", "m", 3)}
	d.ask(claim("one", "m", 3, 3, 1), quota.Granted)
	d.flush()
	if keys := totalsOf(store, of("one")); len(keys) != 1 {
		t.Errorf("it counts in %v", keys)
	}
	// Unused ledgers are removed, in the second round.
	n := func() int {
		return len(slices.DeleteFunc(slices.Collect(maps.Values(store.Stored())), func(s quota.Stored) bool { return s.Version == "" }))
	}
	before := n()
	d.collect()
	if n() != before {
		t.Error("a ledger goes at once")
	}
	store.Tell(d.Observe)
	d.collect()
	if n() != before-2 {
		t.Errorf("%d of %d ledgers are left; want one and the head", n(), before)
	}
	d.set = twoTotals(5, 5)
	store.Tell(d.Observe)
	d.ask(claim("one", "m", 3, 3, 1), quota.Granted)
	d.flush()
	d.ask(claim("two", "m", 0, 3, 1), quota.Refused)
}

// TestTheLedgerOfAPolicyThatIsGoneGoesWithThePausedGroupsInIt after ten minutes, and a policy that comes back counts them again.
func TestTheLedgerOfAPolicyThatIsGoneGoesWithThePausedGroupsInIt(t *testing.T) {
	store := &quotatest.Store{}
	d := newDeskUnder(t, store, twoTotals(5, 5))
	d.grant(claim("paused", "m", 0, 3, 1))
	d.groups = []quota.Group{group("paused", "m", 3)}
	look := func(after time.Duration) (left int) {
		store.Tell(d.Observe)
		d.now = d.now.Add(after)
		d.collect()
		return len(totalsOf(store, of("paused")))
	}
	all := len(totalsOf(store, of("paused")))
	d.set = compile(vms(v1alpha1.QuotaNamespace, 5))
	look(0)
	d.set = twoTotals(5, 5) // it was deleted by mistake, and applied again
	if n := look(10 * time.Minute); n != all {
		t.Errorf("%d ledgers are left, want %d", n, all)
	}
	d.set = compile(vms(v1alpha1.QuotaNamespace, 5))
	look(0)
	if n := look(9 * time.Minute); n != all {
		t.Errorf("after nine minutes, %d ledgers are left, want %d", n, all)
	}
	if n := look(time.Minute); n != 0 {
		t.Errorf("after ten minutes, %d ledgers are left", n)
	}
	d.set = twoTotals(5, 5)
	store.Tell(d.Observe)
	d.refuse(claim("two", "m", 0, 3, 1))
	d.grant(claim("small", "m", 0, 2, 1))
}

// TestTheTotalsOfNamespacesThatAreGoneAreForgotten: a replica that lives long sees thousands of namespaces.
func TestTheTotalsOfNamespacesThatAreGoneAreForgotten(t *testing.T) {
	store := &quotatest.Store{}
	d := newDeskUnder(t, store, compile(vms(v1alpha1.QuotaNamespace, 5)))
	for i := range 20 {
		c := in(fmt.Sprintf("preview-%d", i), claim(types.UID(fmt.Sprintf("web-%d", i)), "m", 0, 3, 1))
		d.grant(c)
		d.GiveBack(c.Key(), policy.Usage{}, policy.Usage{}, c.Epoch)
		d.Forget(c.Key())
		d.flush()
	}
	if n := d.Books(); n != 20 {
		t.Fatalf("%d totals are known, want 20", n)
	}
	for range 5 { // two rounds remove the ledgers, and the totals follow after a minute
		store.Tell(d.Observe)
		d.collect()
	}
	if n := d.Books(); n != 0 {
		t.Errorf("%d totals are known, want none", n)
	}
	d.grant(in("preview-1", claim("again", "m", 0, 5, 1)))
	d.refuse(in("preview-1", claim("more", "m", 0, 1, 1)))
}

// headMadeAnew is a store whose head a user has deleted, and another replica has created again. The ledgers of namespaces a and
// b are left over. The earlier replica has not observed it.
func headMadeAnew(t *testing.T) (store *quotatest.Store, late *desk) {
	t.Helper()
	store = &quotatest.Store{}
	set := compile(vms(v1alpha1.QuotaNamespace, 5))
	late = newDeskUnder(t, store, set)
	late.grant(claim("one", "m", 0, 1, 1))
	late.grant(in("b", claim("gone", "m", 0, 4, 1)))
	late.groups = []quota.Group{group("one", "m", 1)}
	store.Lose("") // according to its message
	newDeskUnder(t, store, set).grant(in("c", claim("two", "m", 0, 4, 2)))
	return store, late
}

func TestWhatIsLeftOverFromAHeadThatWasDeletedDoesNotCount(t *testing.T) {
	store, _ := headMadeAnew(t)
	d := newDeskUnder(t, store, compile(vms(v1alpha1.QuotaNamespace, 5)))
	d.groups = []quota.Group{group("one", "m", 1)} // two is not admitted yet
	for range 2 {
		store.Tell(d.Observe)
		d.collect()
	}
	if e := store.Entries(); e[of("two")].Usage.VMs != 4 || len(e) != 1 {
		t.Errorf("the ledgers say %+v", e)
	}
	for key, s := range store.Stored() {
		if s.Version != "" && s.State.Set != store.Stored()[""].State.Set {
			t.Errorf("ledger %q is still left over", key)
		}
	}
	d.refuse(claim("more", "m", 0, 5, 1)) // besides what one has
	d.grant(in("b", claim("new", "m", 0, 5, 1)))
	d.refuse(in("c", claim("three", "m", 0, 2, 1)))
}

// A replica with a late watch writes a ledger that no longer counts.
func TestAGrantInALedgerThatDoesNotCountIsNone(t *testing.T) {
	store, late := headMadeAnew(t)
	three := claim("three", "m", 0, 4, 1)
	late.ask(three, quota.Waiting)
	if late.Flush(t.Context()) == nil {
		t.Error("the write of a ledger that does not count went well")
	}
	late.groups = []quota.Group{group("one", "m", 4)} // its cache was late as well
	for range 3 {
		if answer := late.Ask(t.Context(), three); answer.Outcome == quota.Granted {
			t.Fatalf("granted 4 of 5 VMs besides %+v", store.Entries())
		}
		_ = late.Flush(t.Context())
	}
	late.ask(three, quota.Refused)
}

// Whatever happens to the ConfigMaps, nothing is granted twice, and admitted usage is counted.
func TestNoLossOfALedgerGrantsAnythingTwice(t *testing.T) {
	spoiled := errors.New(`ConfigMap "vmgroup-operator-quota": it is nonsense; delete it`)
	for story, c := range map[string]struct {
		change     func(store *quotatest.Store, total string, backup map[string]quota.Stored)
		unreadable bool
	}{
		"the head is deleted":       {func(s *quotatest.Store, _ string, _ map[string]quota.Stored) { s.Lose("") }, false},
		"the total is deleted":      {func(s *quotatest.Store, total string, _ map[string]quota.Stored) { s.Lose(total) }, false},
		"all are deleted":           {func(s *quotatest.Store, _ string, _ map[string]quota.Stored) { s.Lose() }, false},
		"the head cannot be read":   {func(s *quotatest.Store, _ string, _ map[string]quota.Stored) { s.Spoil("", spoiled) }, true},
		"the total cannot be read":  {func(s *quotatest.Store, total string, _ map[string]quota.Stored) { s.Spoil(total, spoiled) }, true},
		"an older total comes back": {func(s *quotatest.Store, total string, b map[string]quota.Stored) { s.Put(total, b) }, false},
		"an older head comes back":  {func(s *quotatest.Store, _ string, b map[string]quota.Stored) { s.Lose(""); s.Put("", b) }, false},
		"all come back": {func(s *quotatest.Store, total string, b map[string]quota.Stored) {
			s.Lose()
			s.Put(total, b)
			s.Put("", b)
		}, false},
	} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			ran := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			ran.grant(claim("one", "m", 0, 1, 1))
			backup, total := store.Stored(), totalsOf(store, of("one"))[0]
			ran.grant(claim("one", "m", 1, 4, 1))
			ran.groups = []quota.Group{group("one", "m", 4)}
			c.change(store, total, backup)
			fresh := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
			fresh.groups = ran.groups
			for name, d := range map[string]*desk{"a new process": fresh, "one that ran": ran} {
				store.Tell(d.Observe)
				two := claim("two", "m", 0, 4, 1)
				for range 3 {
					if answer := d.Ask(t.Context(), two); answer.Outcome == quota.Granted {
						t.Fatalf("%s grants 8 of 5 VMs\nledger %+v", name, store.Entries())
					}
					_ = d.Flush(t.Context())
				}
				d.ask(claim("one", "m", 4, 4, 1), quota.Granted)
				if answer := d.Ask(t.Context(), two); c.unreadable {
					if answer.Outcome != quota.Unavailable || !strings.Contains(answer.Problem, "delete it") {
						t.Errorf("%s: the answer has no advice: %+v", name, answer)
					}
				} else if answer.Outcome != quota.Refused {
					t.Errorf("%s answers %+v", name, answer)
				}
			}
			if c.unreadable { // a user follows the message
				store.Lose("")
				store.Lose(total)
			}
			store.Tell(ran.Observe)
			ran.ask(claim("one", "m", 4, 4, 1), quota.Granted)
			ran.now = ran.now.Add(time.Minute)
			for range 2 {
				ran.flush()
				ran.Ask(t.Context(), claim("two", "m", 0, 1, 1))
			}
			ran.flush()
			ran.ask(claim("two", "m", 0, 1, 1), quota.Granted)
			if used := store.Entries()[of("one")].Usage.VMs; used != 4 {
				t.Errorf("the ledger says %d VMs of a group that has 4", used)
			}
		})
	}
}

// One total that cannot be read or written blocks its own groups only.
func TestATotalThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 1, 1))
	store.Spoil(totalsOf(store, of("one"))[0], errBroken)
	store.Tell(d.Observe)
	d.ask(claim("one", "m", 1, 2, 1), quota.Unavailable)
	other := in("b", claim("two", "m", 0, 4, 1))
	d.ask(other, quota.Waiting)
	if err := d.Flush(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("the error is %v", err)
	}
	d.ask(other, quota.Granted)
}

func TestAGroupThatIsGoneCountsAsWhatIsLeftOfIt(t *testing.T) {
	store := &quotatest.Store{}
	two := int32(2)
	limit := vms(v1alpha1.QuotaNamespace, 5)
	limit.Quota.Groups = &two
	d := newDesk(t, store, limit)
	d.grant(claim("gone", "m", 0, 4, 1))
	d.grant(claim("stays", "m", 0, 1, 1))
	d.groups = []quota.Group{group("stays", "m", 1)}
	d.left = map[quota.Key]policy.Usage{of("gone"): {VMs: 2, CPU: 2, Memory: 2}}
	look := func() policy.Usage {
		for range 3 {
			d.leading, d.now = true, d.now.Add(7*time.Minute)
			d.Collect(t.Context())
			d.flush()
		}
		return store.Entries()[of("gone")].Usage
	}
	if got := look(); got != d.left[of("gone")] {
		t.Errorf("the ledger charges a deleted group for %+v, want its remaining VMs", got)
	}
	before := store.Version()
	if look(); store.Version() != before {
		t.Errorf("%d writes for what did not change", store.Version()-before)
	}
	d.grant(claim("anew", "m", 0, 2, 1)) // two VMs and a group are free
	d.ask(claim("more", "m", 0, 1, 1), quota.Refused)
	d.groups = append(d.groups, group("anew", "m", 2))
	d.left = nil
	if got := look(); got.VMs != 0 {
		t.Errorf("nothing is left, and the ledger says %+v", got)
	}
}

func TestAVCenterThatCannotBeLookedAtKeepsTheEntriesAndIsNamed(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("gone", "m", 0, 4, 1))
	d.blind, d.leading = &quota.UnseenError{VCenter: "old"}, true
	lines := 0
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, _ string) { lines++ }, funcr.Options{}))
	for i, want := range []int{0, 0, 0, 1, 1, 2} { // a new VCenter is not known for a moment, which needs no person
		d.now = d.now.Add([]time.Duration{time.Minute, time.Minute, time.Minute, 5 * time.Minute, time.Minute, 10 * time.Minute}[i])
		d.Collect(ctx)
		d.flush()
		if lines != want {
			t.Errorf("after collection %d, the log has %d lines, want %d", i, lines, want)
		}
	}
	if n := d.HeldByVCenter()["old"]; n != 1 {
		t.Errorf("%d groups are said to be held by the VCenter", n)
	}
	if used := store.Entries()[of("gone")].Usage.VMs; used != 4 {
		t.Errorf("the remaining VMs are unknown, and the ledger charges %d VMs, want 4", used)
	}
	d.blind = nil
	d.now = d.now.Add(time.Minute)
	d.Collect(t.Context())
	d.flush()
	if n := d.HeldByVCenter()["old"]; n != 0 || len(store.Entries()) != 0 {
		t.Errorf("%d groups are held, %d entries are left", n, len(store.Entries()))
	}
}
