package quota_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
)

// standing is the usage of so many VMs with one CPU.
func standing(n int64) policy.Usage { return policy.Usage{VMs: n, CPU: n, Memory: n} }

// remnant is a group of namespace a of member m that is in no cache, with this many VMs.
func remnant(uid types.UID, stands int64) quota.Remnant {
	return quota.Remnant{Group: group(uid, "m", 0), Stands: standing(stands)}
}

func TestKeptVMsThatTheLedgerDoesNotHaveAreEnteredBeforeAnythingIsGranted(t *testing.T) {
	for story, entered := range map[string]int32{"the backup is older than the group": 0, "the backup has it smaller": 3} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 9))
			if entered > 0 {
				d.grant(claim("kept", "m", 0, entered, 1))
			}
			d.remnants = []quota.Remnant{remnant("kept", 6)}
			c := claim("next", "m", 0, 6, 1)
			d.ask(c, quota.Waiting)
			d.flush()
			d.ask(c, quota.Refused)
			if e := store.Entries()[of("kept")]; e.Usage.VMs != 6 {
				t.Errorf("6 kept VMs count as %+v", e.Usage)
			}
			d.grant(claim("next", "m", 0, 3, 1))
		})
	}
}

func TestTheEntryOfAGroupThatIsGoneBecomesWhatIsLeftOfItUpOrDown(t *testing.T) {
	for story, left := range map[string]int64{"more": 6, "less": 1} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 9))
			d.leading, d.left = true, map[quota.Key]policy.Usage{of("gone"): standing(left)}
			d.grant(claim("gone", "m", 0, 3, 1))
			for range 3 {
				d.now = d.now.Add(12 * time.Minute)
				d.Collect(t.Context())
				d.flush()
			}
			if e := store.Entries()[of("gone")]; e.Usage != standing(left) {
				t.Errorf("%d VMs are left, and the ledger has %+v", left, e.Usage)
			}
			_, writes := store.Requests()
			d.Collect(t.Context())
			d.flush()
			if _, again := store.Requests(); again != writes {
				t.Error("an entry that is right is written again")
			}
		})
	}
}

// The ledger is from a backup, and the API server of the other member has not answered since.
func TestAGroupOfAMemberThatIsAwayCountsWithTheMostThatIsKnownOfIt(t *testing.T) {
	for story, c := range map[string]struct {
		entry, recorded int32
		stands          int64
	}{
		"the record":             {1, 4, 0},
		"what vCenter shows":     {1, 2, 4},
		"the entry":              {4, 1, 2},
		"it has no entry at all": {0, 1, 4},
	} {
		t.Run(story, func(t *testing.T) {
			store := &quotatest.Store{}
			d := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
			far := claim("far", "other", 0, max(c.entry, 1), 1)
			if c.entry > 0 {
				d.grant(far)
			} else {
				d.grant(claim("another", "other", 0, 0, 1)) // the member was counted
			}
			d.away["other"] = true
			r := quota.Remnant{Group: group("far", "other", c.recorded), Stands: standing(c.stands), Unlabeled: true}
			d.remnants = []quota.Remnant{r}
			near := claim("near", "m", 0, 2, 1)
			if d.Ask(t.Context(), near).Outcome == quota.Waiting {
				d.flush()
			}
			d.ask(near, quota.Refused)
			d.grant(claim("near", "m", 0, 1, 1))
		})
	}
}

func TestARecordOfAGroupThatIsKnownToBeGoneDoesNotCount(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
	d.leading, d.left = true, map[quota.Key]policy.Usage{{Member: "other", UID: "far"}: standing(1)}
	d.grant(claim("far", "other", 0, 4, 1))
	for range 3 {
		d.now = d.now.Add(12 * time.Minute)
		d.Collect(t.Context())
		d.flush()
	}
	d.away["other"] = true
	d.remnants = []quota.Remnant{{Group: group("far", "other", 4), Stands: standing(1)}}
	d.grant(claim("near", "m", 0, 4, 1))
}

// The labels of a namespace are unknown while its member is unreachable. If the ledger has other groups of that namespace, it
// counts.
func TestANamespaceWithoutKnownLabelsCountsWhereItCountedBefore(t *testing.T) {
	rule := vms(v1alpha1.QuotaMatch, 5)
	rule.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	gold := map[string]string{"tier": "gold"}
	for story, c := range map[string]struct {
		namespace string
		want      quota.Outcome
	}{
		"one that has an entry":            {"a", quota.Refused},
		"one of which nothing was entered": {"b", quota.Granted},
	} {
		t.Run(story, func(t *testing.T) {
			d := newDesk(t, &quotatest.Store{}, rule)
			before := claim("before", "other", 0, 1, 1)
			before.Requester.NamespaceLabels = gold
			d.grant(before)
			d.away["other"] = true
			r := quota.Remnant{Group: group("since", "other", 0), Stands: standing(3), Unlabeled: true}
			r.Requester.Namespace = c.namespace
			d.remnants = []quota.Remnant{r}
			near := claim("near", "m", 0, 2, 1)
			near.Requester.NamespaceLabels = gold
			if d.Ask(t.Context(), near).Outcome == quota.Waiting {
				d.flush()
			}
			d.ask(near, c.want)
		})
	}
}

// For VMs of a forgotten group, and VMs that another group adopts, the caller names no namespace.
func TestVMsThatMayNotBeEnteredOnlyRaiseAnEntry(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	r := remnant("forgotten", 4)
	r.Requester.Namespace = ""
	d.remnants = []quota.Remnant{r}
	d.grant(claim("one", "m", 0, 2, 1))
	d.remnants[0].UID = "one"
	d.ask(claim("two", "m", 0, 2, 1), quota.Waiting)
	d.flush()
	d.ask(claim("two", "m", 0, 2, 1), quota.Refused)
	if entries := store.Entries(); len(entries) != 1 || entries[of("one")].Usage.VMs != 4 {
		t.Errorf("the ledger has %+v", entries)
	}
}

func TestAGroupWhoseMemberGoesAwayWhileAllGroupsAreListedStillCounts(t *testing.T) {
	d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaMatch, 5))
	d.groups = []quota.Group{group("there", "other", 4)}
	d.onRemnants = func() []quota.Remnant {
		if !d.away["other"] {
			d.away["other"] = true // after this answer
			return nil
		}
		return []quota.Remnant{{Group: group("there", "other", 4), Stands: standing(4)}}
	}
	c := claim("next", "m", 0, 5, 1)
	d.ask(c, quota.Waiting)
	d.flush()
	d.ask(c, quota.Refused)
}

// A former holder gave back when the group had no VM. Its successor let it grow, and deleted it without its VMs. The ledger
// is from an earlier backup.
func TestWhatAFormerHolderGivesBackDoesNotHideVMsThatAreKept(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 1, 1))
	d.GiveBack(of("one"), policy.UsageOf(spec(0)), policy.UsageOf(spec(0)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.remnants = []quota.Remnant{remnant("one", 4)}
	two := claim("two", "m", 0, 3, 1)
	for range 3 {
		d.Ask(t.Context(), two)
		d.flush()
	}
	d.ask(two, quota.Refused)
	if used := store.Entries()[of("one")].Usage.VMs; used != 4 {
		t.Errorf("the ledger says %d VMs where 4 are kept", used)
	}
}
