package quota_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// desk is one replica's ledger in a world that the test makes.
type desk struct {
	*quota.Ledger
	t      *testing.T
	set    *policy.Set
	groups []quota.Group
	// mu guards groups if they change while the ledger runs.
	mu       sync.Mutex
	remnants []quota.Remnant
	members  []string
	away     map[string]bool
	now      time.Time
	notified map[quota.Key]int
	leading  shardingtest.Leader
	registry *prometheus.Registry
	exists   map[quota.Key]bool
	// left are the VMs of deleted groups in vCenter; blind is the error of that search.
	left  map[quota.Key]policy.Usage
	blind error
	// onMembers runs when the members are listed, as before each write.
	onMembers func()
	// onRemnants returns the remnants of groups on each call; nil means remnants.
	onRemnants func() []quota.Remnant
}

func (d *desk) Policies(context.Context) (*policy.Set, bool) { return d.set, d.set != nil }
func (d *desk) Served(member string) bool                    { return !d.away[member] }
func (d *desk) Members(context.Context) ([]string, error) {
	if d.onMembers != nil {
		d.onMembers()
	}
	return d.members, nil
}
func (d *desk) Groups(context.Context) (groups [][]quota.Group, _ error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.groups {
		if !d.away[g.Requester.Member] {
			groups = append(groups, []quota.Group{g})
		}
	}
	return groups, nil
}

func (d *desk) Remnants(context.Context) ([]quota.Remnant, error) {
	if d.onRemnants != nil {
		return d.onRemnants(), nil
	}
	return d.remnants, nil
}

// QuotaAnswered implements quota.Listener.
func (d *desk) QuotaAnswered(id quota.Key) { d.notified[id]++ }

// Left implements quota.Inspector.
func (d *desk) Left(_ context.Context, id quota.Key, _, _ string) (policy.Usage, bool, error) {
	return d.left[id], !d.exists[id], d.blind
}

func newDesk(t *testing.T, store quota.Store, spec v1alpha1.VmGroupPolicySpec) *desk {
	d := &desk{
		t: t, set: compile(spec), members: []string{"m", "other"}, away: map[string]bool{}, notified: map[quota.Key]int{},
		now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), exists: map[quota.Key]bool{}, registry: prometheus.NewRegistry(),
	}
	counters, err := quotametrics.New(d.registry)
	if err != nil {
		t.Fatal(err)
	}
	d.Ledger = quota.New(quota.Options{
		Counters: counters,
		Store:    store, Lister: d, Listener: d, Now: func() time.Time { return d.now },
		Leader: &d.leading, Inspector: d,
	})
	return d
}

func compile(spec v1alpha1.VmGroupPolicySpec) *policy.Set {
	return policy.Compile([]v1alpha1.VmGroupPolicy{{ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: spec}})
}

func vms(scope v1alpha1.QuotaScope, n int32) v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{VMs: &n, Scope: scope}}
}

// of is the key of a group of member m.
func of(uid types.UID) quota.Key { return quota.Key{Member: "m", UID: uid} }

// claim of a group with one CPU per VM.
func claim(uid types.UID, member string, holds, wants int32, epoch int64) quota.Claim {
	return quota.Claim{
		Group: group(uid, member, holds), Spec: spec(wants), Wants: policy.UsageOf(spec(wants)), Epoch: v1alpha1.Epoch{Generation: 1, Number: epoch},
	}
}

func group(uid types.UID, member string, holds int32) quota.Group {
	g := quota.Group{UID: uid, Name: string(uid), Requester: policy.Requester{Member: member, Namespace: "a"}}
	if holds > 0 {
		g.Holds = policy.UsageOf(spec(holds))
		g.Granted = g.Holds
	}
	return g
}

func spec(replicas int32) v1alpha1.VmGroupSpec {
	return v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t", Replicas: &replicas}
}

func (d *desk) ask(c quota.Claim, want quota.Outcome) quota.Answer {
	d.t.Helper()
	answer := d.Ask(d.t.Context(), c)
	if answer.Outcome != want {
		d.t.Fatalf("%s, which holds %d VMs and wants %d, is answered %+v, want outcome %d", c.UID, c.Holds.VMs, *c.Spec.Replicas, answer, want)
	}
	return answer
}

func (d *desk) flush() {
	d.t.Helper()
	if err := d.Flush(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// grant asks and flushes until the claim is granted.
func (d *desk) grant(c quota.Claim) {
	d.t.Helper()
	d.ask(c, quota.Waiting)
	d.flush()
	for d.Ask(d.t.Context(), c).Outcome == quota.Waiting {
		d.flush()
	}
	d.ask(c, quota.Granted)
}

func TestTwoReplicasRaceForTheLastPlace(t *testing.T) {
	store := &quotatest.Store{}
	a, b := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	a.flush()
	b.flush() // both know that the usage is zero
	one, two := claim("one", "m", 0, 3, 1), claim("two", "m", 0, 3, 1)
	a.ask(one, quota.Waiting)
	b.ask(two, quota.Waiting)
	a.flush()
	b.flush()
	a.ask(one, quota.Granted)
	answer := b.ask(two, quota.Refused)
	const want = `spec.replicas: Invalid value: 3: exceeds the quota of 5 VMs of VmGroupPolicy "q" in namespace "a": 3 are used, 2 are left`
	if len(answer.Violations) != 1 || answer.Violations[0].Error() != want {
		t.Errorf("refused with %v, want %s", answer.Violations, want)
	}
	// A refusal costs no write, and ends when there is room.
	_, before := store.Requests()
	b.ask(two, quota.Refused)
	b.flush()
	if _, after := store.Requests(); after != before {
		t.Errorf("%d writes for a refusal", after-before)
	}
	a.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	a.flush()
	clear(b.notified)
	store.Tell(b.Observe)
	if b.notified[of("two")] == 0 {
		t.Error("the waiting group was not notified of the free room")
	}
	b.grant(two)
}

func TestWhatIsGrantedCostsNothing(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 3, 1))
	reads, writes := store.Requests()
	for range 10 {
		d.ask(claim("one", "m", 0, 3, 1), quota.Granted) // not admitted yet
		d.ask(claim("one", "m", 3, 3, 1), quota.Granted)
		d.ask(claim("one", "m", 3, 3, 2), quota.Granted) // another holder
		d.flush()
	}
	if r, w := store.Requests(); r != reads || w != writes {
		t.Errorf("%d reads and %d writes for what was granted", r-reads, w-writes)
	}
}

func TestAThousandGroupsShareAFewWrites(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5000))
	for i := range 1000 {
		d.ask(claim(types.UID(fmt.Sprint(i)), "m", 0, 3, 1), quota.Waiting)
	}
	d.flush()
	for i := range 1000 {
		d.ask(claim(types.UID(fmt.Sprint(i)), "m", 0, 3, 1), quota.Granted)
	}
	if _, writes := store.Requests(); writes != 2 { // the first specifies that each total has its own ledger
		t.Errorf("%d writes", writes)
	}
}

// meanwhile runs do once, during a write.
func meanwhile(store *quotatest.Store, do func()) {
	store.OnWrite = func() quotatest.Fault {
		store.OnWrite = nil
		do()
		return quotatest.None
	}
}

func TestAFormerHolderCannotGiveBackWhatItsSuccessorWasGranted(t *testing.T) {
	store := &quotatest.Store{}
	a, b := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	a.grant(claim("one", "m", 0, 5, 1))
	b.flush()
	// The group shrank to 3, which its holder read afresh. While it returns quota, another replica takes over and
	// requests 5.
	a.GiveBack(of("one"), policy.UsageOf(spec(3)), policy.UsageOf(spec(3)), v1alpha1.Epoch{Generation: 1, Number: 1})
	meanwhile(store, func() {
		b.ask(claim("one", "m", 3, 5, 2), quota.Waiting) // never without a write of its own
		b.flush()
		b.ask(claim("one", "m", 3, 5, 2), quota.Granted)
	})
	a.flush()
	if used := store.Entries()[of("one")].Usage.VMs; used != 5 {
		t.Errorf("the ledger says %d VMs of a group that was granted 5", used)
	}
}

func TestWhatIsBeingGivenBackIsNotGranted(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 5, 1))
	d.GiveBack(of("one"), policy.UsageOf(spec(3)), policy.UsageOf(spec(3)), v1alpha1.Epoch{Generation: 1, Number: 1})
	meanwhile(store, func() { d.ask(claim("one", "m", 3, 5, 1), quota.Waiting) })
	d.flush()
	d.ask(claim("two", "m", 0, 1, 1), quota.Waiting)
	d.flush()
	if used := store.Entries()[of("one")].Usage.VMs + store.Entries()[of("two")].Usage.VMs; used > 5 {
		t.Errorf("%d VMs granted of 5", used)
	}
}

func TestALostReplyIsNotAGrantAndNotALoss(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	one := claim("one", "m", 0, 5, 1)
	d.ask(one, quota.Waiting)
	store.OnWrite = func() quotatest.Fault { return quotatest.LoseReply }
	if err := d.Flush(t.Context()); err == nil {
		t.Fatal("a lost reply is no error")
	}
	if answer := d.ask(one, quota.Unavailable); answer.Problem == "" || d.notified[of("one")] == 0 {
		t.Errorf("the answer has no reason for the wait, or the group was not notified: %+v", answer)
	}
	store.OnWrite = nil
	d.flush()
	d.ask(one, quota.Granted)
	if d.notified[of("one")] < 2 {
		t.Error("the group was not notified of the granted claim")
	}
}

func TestALostLedgerIsFilledBeforeAnythingIsGranted(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.groups = []quota.Group{group("one", "m", 4), group("new", "m", 0)}
	d.ask(claim("new", "m", 0, 2, 1), quota.Waiting)
	d.flush()
	d.ask(claim("new", "m", 0, 2, 1), quota.Refused)
	d.ask(claim("one", "m", 4, 4, 1), quota.Granted) // existing usage is never refused
	d.flush()
	if e := store.Entries()[of("one")]; e.Usage.VMs != 4 {
		t.Errorf("the ledger says %+v of a group with 4 VMs", e)
	}
}

func TestATotalOverAllMembersNeedsAllMembers(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
	d.groups = []quota.Group{group("far", "other", 4)}
	d.away["other"] = true
	d.ask(claim("one", "m", 0, 1, 1), quota.Waiting)
	d.flush()
	answer := d.ask(claim("one", "m", 0, 1, 1), quota.Unavailable)
	if !strings.Contains(answer.Problem, `"other"`) || !strings.Contains(answer.Problem, `"q"`) {
		t.Errorf("the problem is %q", answer.Problem)
	}
	// The member was counted once: while it is unreachable, its entries in the ledger count.
	d.away["other"] = false
	d.grant(claim("one", "m", 0, 1, 1))
	d.away["other"] = true
	d.ask(claim("two", "m", 0, 1, 1), quota.Refused)
	// Once the policy applies to others, it is unknown whether the member was counted.
	excluding := vms(v1alpha1.QuotaMatch, 50)
	excluding.Match.Exclude = []string{"kube-*"}
	d.set = compile(excluding)
	d.ask(claim("two", "m", 0, 1, 1), quota.Unavailable)
	// A quota of each namespace is not affected.
	d.set = compile(vms(v1alpha1.QuotaNamespace, 50))
	d.grant(claim("two", "m", 0, 1, 1))
}

func TestATightenedQuotaTakesNothingBack(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 4, 1))
	d.set = compile(vms(v1alpha1.QuotaNamespace, 2))
	d.ask(claim("one", "m", 0, 4, 2), quota.Waiting) // granted, not admitted yet, and held by another replica now
	d.flush()
	d.ask(claim("one", "m", 0, 4, 2), quota.Granted)
	d.ask(claim("one", "m", 4, 5, 2), quota.Refused)
	d.ask(claim("one", "m", 4, 3, 2), quota.Granted)
}

func TestAFullLedgerRefusesGrowthAndLetsGroupsGiveBack(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 50))
	d.grant(claim("one", "m", 0, 4, 1))
	store.OnWrite = func() quotatest.Fault {
		store.OnWrite = nil
		return quotatest.Fill
	}
	d.GiveBack(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.ask(claim("two", "m", 0, 4, 1), quota.Waiting)
	d.flush()
	if answer := d.ask(claim("two", "m", 0, 4, 1), quota.Unavailable); !strings.Contains(answer.Problem, "full") {
		t.Errorf("the problem is %q", answer.Problem)
	}
	if used := store.Entries()[of("one")].Usage.VMs; used != 1 {
		t.Errorf("%d VMs were not given back", used)
	}
	d.now = d.now.Add(time.Minute)
	d.grant(claim("two", "m", 0, 4, 1))
}

func TestPoliciesThatAreNotReadYetLetNothingGrow(t *testing.T) {
	d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaNamespace, 50))
	d.set = nil
	d.ask(claim("one", "m", 2, 3, 1), quota.Unavailable)
	d.ask(claim("one", "m", 3, 3, 1), quota.Granted)
}

func TestAdmissionIsToldFromMemory(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 3, 1))
	vg := func(uid types.UID, replicas int32) *v1alpha1.VmGroup {
		return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Name: string(uid), UID: uid}, Spec: spec(replicas)}
	}
	who := policy.Requester{Member: "m", Namespace: "a"}
	for story, c := range map[string]struct {
		old, next *v1alpha1.VmGroup
		refused   int
	}{
		"a new group that fits":       {nil, vg("two", 2), 0},
		"a new group that does not":   {nil, vg("two", 3), 1},
		"growth within the quota":     {vg("one", 3), vg("one", 5), 0},
		"growth beyond the quota":     {vg("one", 3), vg("one", 6), 1},
		"shrinking from beyond it":    {vg("one", 9), vg("one", 8), 0},
		"a label of one beyond it":    {vg("one", 9), vg("one", 9), 0},
		"another that grows too much": {vg("two", 1), vg("two", 3), 1},
	} {
		if got := d.Check(t.Context(), who, c.old, c.next); len(got) != c.refused {
			t.Errorf("%s: %v", story, got)
		}
	}
	if _, writes := store.Requests(); writes != 2 { // the first specifies that each total has its own ledger
		t.Errorf("%d writes", writes)
	}
}

func TestEntriesOfGroupsThatAreGoneAreCollectedByTheLeader(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 50))
	d.members = append(d.members, "former")
	for _, c := range []quota.Claim{
		claim("stays", "m", 0, 1, 1), claim("gone", "m", 0, 1, 1), claim("unseen", "m", 0, 1, 1), claim("away", "other", 0, 1, 1),
		claim("left", "former", 0, 1, 1),
	} {
		d.grant(c)
	}
	d.members = d.members[:2] // its MemberCluster was deleted
	d.groups = []quota.Group{group("stays", "m", 1)}
	d.exists = map[quota.Key]bool{of("unseen"): true} // the cache is behind
	d.away["other"] = true
	look := func() int {
		d.now = d.now.Add(7 * time.Minute)
		d.Collect(t.Context())
		d.flush()
		return len(store.Entries())
	}
	for range 4 {
		if n := look(); n != 5 {
			t.Fatalf("%d entries are left without a leader, want 5", n)
		}
	}
	d.leading = true
	if n := look(); n != 5 {
		t.Fatalf("%d entries are left after the first look: a cache may be late", n)
	}
	if n := look(); n != 3 {
		t.Errorf("entries left are %v; want those of groups that stay, are unseen, or are of an unreachable member", store.Entries())
	}
}

func TestALedgerThatCannotBeReadGrantsNothing(t *testing.T) {
	store := &broken{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 50))
	d.ask(claim("one", "m", 0, 1, 1), quota.Waiting)
	if err := d.Flush(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("the error is %v", err)
	}
	d.Observe("", quota.Stored{Version: "1", Seen: "1", Err: errBroken})
	if answer := d.ask(claim("one", "m", 0, 1, 1), quota.Unavailable); !strings.Contains(answer.Problem, errBroken.Error()) {
		t.Errorf("the problem is %q", answer.Problem)
	}
}

var errBroken = errors.New("the entry is malformed")

type broken struct{ quotatest.Store }

func (*broken) Read(context.Context, string) (quota.Stored, error) {
	return quota.Stored{Version: "1", Seen: "1", Err: errBroken}, nil
}

func TestAFailureIsForgottenWithTheNextAnswer(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.flush()
	d.Observe("", quota.Stored{Err: errors.New("no ledger at all")})
	d.ask(claim("one", "m", 0, 3, 1), quota.Unavailable)
	store.Tell(d.Observe)
	d.ask(claim("one", "m", 0, 3, 1), quota.Waiting)

	store.OnWrite = func() quotatest.Fault { return quotatest.Refuse }
	if d.Flush(t.Context()) == nil {
		t.Fatal("the write went well")
	}
	d.ask(claim("two", "m", 0, 1, 1), quota.Unavailable)
	store.OnWrite = nil
	d.flush()
	d.ask(claim("three", "m", 0, 1, 1), quota.Waiting)
}

// A member whose credentials change is not engaged for a moment.
func TestALedgerThatFailsBrieflyNeedsNoPerson(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.flush()
	infos, failures := 0, 0
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, args string) {
		if strings.Contains(args, `"error"=`) {
			failures++
		} else {
			infos++
		}
	}, funcr.Options{}))
	outage := func(name types.UID, minutes int) {
		t.Helper()
		d.ask(claim(name, "m", 0, 1, 1), quota.Waiting)
		store.OnWrite = func() quotatest.Fault { return quotatest.Refuse }
		for range 1 + minutes {
			if d.Flush(ctx) == nil {
				t.Error("the write went well")
			}
			d.now = d.now.Add(time.Minute)
		}
		store.OnWrite = nil
		d.flush()
	}
	for _, c := range []struct{ minutes, infos, failures int }{{0, 1, 0}, {0, 2, 0}, {2, 3, 2}, {0, 4, 2}} {
		if outage(types.UID(fmt.Sprint("group-", c.infos)), c.minutes); infos != c.infos || failures != c.failures {
			t.Errorf("after an outage of %d minutes there are %d lines at level info and %d at level error, want %d and %d", c.minutes, infos, failures, c.infos, c.failures)
		}
	}
}

func TestOnlyWhatIsNotNeededIsSurplus(t *testing.T) {
	d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 3, 1))
	for _, c := range []struct {
		holds, wants int32
		needs        int64
		some         bool
	}{{3, 0, 3, false}, {1, 3, 3, false}, {1, 2, 2, true}, {1, 0, 1, true}, {0, 0, 0, true}, {4, 0, 4, false}} {
		wants := policy.Usage{}
		if c.wants > 0 {
			wants = policy.UsageOf(spec(c.wants))
		}
		needs, some := d.Surplus(of("one"), group("one", "m", c.holds).Holds, wants)
		if needs.VMs != c.needs || some != c.some {
			t.Errorf("a group that holds %d of the 3 VMs that it was granted, and wants %d: %d are needed, surplus %v; want %d, %v",
				c.holds, c.wants, needs.VMs, some, c.needs, c.some)
		}
	}
}

func TestAGroupThatShrankWhileTheLedgerWasNotKnownIsLookedAtAgain(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 3, 1))
	shrunk := func() bool {
		_, some := d.Surplus(of("one"), group("one", "m", 1).Holds, policy.UsageOf(spec(1)))
		d.ask(claim("one", "m", 1, 1, 1), quota.Granted)
		return some
	}
	looked := func(when string, want bool) {
		t.Helper()
		if got := d.notified[of("one")] > 0; got != want {
			t.Errorf("%s, the group is notified: %v, want %v", when, got, want)
		}
		clear(d.notified)
	}
	clear(d.notified)

	d.Observe("", quota.Stored{Err: errors.New("no ledger at all")})
	if shrunk() {
		t.Error("there is a surplus in a ledger that cannot be read")
	}
	store.Tell(d.Observe)
	looked("when the ledger is there again", true)

	// Another replica held it for a moment, so this one has nothing to write.
	other := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	other.grant(claim("one", "m", 3, 4, 2))
	store.Tell(d.Observe)
	looked("when another replica has changed its entry", true)
	d.GiveBack(of("one"), policy.UsageOf(spec(2)), policy.UsageOf(spec(2)), v1alpha1.Epoch{Generation: 1, Number: 1})
	d.onMembers = func() {
		if shrunk() {
			t.Error("there is a surplus while the group's entry is written")
		}
	}
	d.flush()
	d.onMembers = nil
	looked("after a write of its own entry", true)

	if !shrunk() {
		t.Error("what is left over is no surplus")
	}
	store.Tell(d.Observe)
	looked("of what was answered", false)

	d.ask(claim("one", "m", 4, 5, 3), quota.Waiting)
	if shrunk() {
		t.Error("there is a surplus while a claim of the group waits")
	}
}

func TestOldNewsOfTheLedgerIsDropped(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 3, 1))
	old := store.Stored()
	d.grant(claim("one", "m", 3, 5, 1))
	for key, stored := range old {
		d.Observe(key, stored)
	}
	d.ask(claim("one", "m", 3, 5, 1), quota.Granted)
	store.Tell(d.Observe)
	d.ask(claim("one", "m", 3, 5, 1), quota.Granted)
}

func TestAGroupThatWaitsForAnotherMemberIsToldWhenThatIsCounted(t *testing.T) {
	store := &quotatest.Store{}
	d, other := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5)), newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
	d.away["other"] = true
	d.ask(claim("one", "m", 0, 3, 1), quota.Waiting)
	d.flush()
	d.ask(claim("one", "m", 0, 3, 1), quota.Unavailable)
	other.grant(claim("two", "other", 0, 1, 1)) // which counts both members
	clear(d.notified)
	store.Tell(d.Observe)
	if d.notified[of("one")] == 0 {
		t.Error("the group was not notified that the other member's groups are counted now")
	}
	d.grant(claim("one", "m", 0, 3, 1))
}

func TestAWatchThatIsAheadOfAReplyIsNotUndone(t *testing.T) {
	store := &quotatest.Store{}
	d, other := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 2, 1))
	other.flush()
	d.ask(claim("one", "m", 2, 3, 1), quota.Waiting)
	store.AfterWrite = func() { // an entry of another replica in the same write precedes the answer
		store.AfterWrite = nil
		store.Tell(other.Observe)
		other.grant(claim("two", "m", 0, 2, 1))
		store.Tell(d.Observe)
	}
	d.flush()
	d.ask(claim("one", "m", 3, 3, 1), quota.Granted)
	d.ask(claim("three", "m", 0, 1, 1), quota.Refused) // which would wait for a write in the earlier state
}

// lateStore answers reads late: late runs before the answer arrives.
type lateStore struct {
	*quotatest.Store
	late func()
}

func (s *lateStore) Read(ctx context.Context, key string) (quota.Stored, error) {
	read, err := s.Store.Read(ctx, key)
	if s.late != nil {
		s.late()
	}
	return read, err
}

func TestAWatchThatIsAheadOfAReadIsNotUndone(t *testing.T) {
	store := &quotatest.Store{}
	late := &lateStore{Store: store}
	d, other := newDesk(t, late, vms(v1alpha1.QuotaNamespace, 5)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	other.grant(claim("one", "m", 0, 2, 1))
	late.late = func() {
		other.grant(claim("one", "m", 2, 5, 1))
		store.Tell(d.Observe)
	}
	d.flush()
	d.ask(claim("three", "m", 0, 1, 1), quota.Refused)
}

func TestAGroupThatAskedBeforeTheLedgerWasReadIsLookedAtAgain(t *testing.T) {
	d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaNamespace, 5))
	d.Surplus(of("one"), policy.UsageOf(spec(1)), policy.UsageOf(spec(1)))
	d.flush()
	if d.notified[of("one")] != 1 {
		t.Errorf("the group was notified %d times, want once", d.notified[of("one")])
	}
}

func TestAHolderIsToldWhenItsOldCacheEnteredMoreThanItHolds(t *testing.T) {
	d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaNamespace, 5))
	d.ask(claim("one", "m", 1, 1, 1), quota.Granted)
	d.flush()
	d.GiveBack(of("one"), policy.Usage{}, policy.Usage{}, v1alpha1.Epoch{Generation: 1, Number: 1})
	d.flush()
	clear(d.notified)
	d.groups = []quota.Group{group("one", "m", 3)} // the cache is behind
	d.ask(claim("one", "m", 1, 1, 1), quota.Granted)
	d.flush()
	if d.notified[of("one")] == 0 {
		t.Error("the group was not notified, and two VMs are charged that it does not have")
	}
	if _, some := d.Surplus(of("one"), group("one", "m", 1).Holds, policy.UsageOf(spec(1))); !some {
		t.Error("there is nothing to give back")
	}
}

func TestGroupsThatWaitForTheLedgerAreNotToldWhileItCannotBeWritten(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.grant(claim("one", "m", 0, 3, 1))
	store.OnWrite = func() quotatest.Fault { return quotatest.Refuse }
	d.ask(claim("two", "m", 0, 1, 1), quota.Waiting)
	fail := func() {
		t.Helper()
		if d.Flush(t.Context()) == nil {
			t.Fatal("the write went well")
		}
	}
	fail()
	d.Surplus(of("one"), group("one", "m", 1).Holds, policy.UsageOf(spec(1)))
	clear(d.notified)
	fail() // reads, and cannot write
	if d.notified[of("one")] > 0 {
		t.Error("a group that could not give anything back is passed over at each attempt")
	}
	store.OnWrite = nil
	d.flush()
	if d.notified[of("one")] == 0 {
		t.Error("the group was not notified that the ledger is writable again")
	}
}

func TestAHolderIsToldWhatBecameOfItsEntryElsewhere(t *testing.T) {
	store := &quotatest.Store{}
	d, former := newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5)), newDesk(t, store, vms(v1alpha1.QuotaNamespace, 5))
	d.flush()
	d.Collect(t.Context())
	told := func(when string) {
		t.Helper()
		clear(d.notified)
		if store.Tell(d.Observe); d.notified[of("one")] != 1 {
			t.Errorf("%s, its holder was notified %d times, want once", when, d.notified[of("one")])
		}
	}
	former.grant(claim("one", "m", 0, 3, 1))
	told("when a former holder's claim comes late")
	former.grant(claim("one", "m", 3, 4, 1))
	told("when it changes")
	store.Lose()
	told("when it is lost")
}

func TestAGroupWithTheUIDOfAnotherMembersGivesNothingOfItBack(t *testing.T) {
	store := &quotatest.Store{}
	d := newDesk(t, store, vms(v1alpha1.QuotaMatch, 5))
	d.flush()
	d.grant(claim("u", "m", 0, 4, 1))
	d.ask(claim("u", "other", 0, 4, 1), quota.Refused)
	forged := quota.Key{Member: "other", UID: "u"}
	d.GiveBack(forged, policy.Usage{}, policy.Usage{}, v1alpha1.Epoch{Generation: 9, Number: 9})
	d.Forget(forged)
	d.flush()
	if used := store.Entries()[of("u")].Usage.VMs; used != 4 {
		t.Errorf("the ledger says %d VMs for the group that was granted 4", used)
	}
	d.ask(claim("u", "other", 0, 2, 1), quota.Refused)
}

// Advice omits VMs that a group adopts, unless they belong to another namespace: naming any UID must not gain room.
func TestAdviceLeavesOutOnlyVMsOfTheSameNamespaceThatAreToBeTakenOver(t *testing.T) {
	for story, c := range map[string]struct {
		namespace, member string
		ended, passes     bool
	}{
		"of this namespace":    {"a", "m", true, true},
		"of another namespace": {"b", "m", true, false},
		"of another member":    {"a", "other", true, false},
		"of a living group":    {"a", "m", false, false},
	} {
		d := newDesk(t, &quotatest.Store{}, vms(v1alpha1.QuotaMatch, 3))
		old := claim("old", c.member, 0, 2, 1)
		old.Requester.Namespace = c.namespace
		d.grant(old)
		if c.ended {
			d.Leave(old.Key(), policy.Usage{VMs: 2, CPU: 2, Memory: 2})
			d.flush()
		}
		next := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "heir"}, Spec: spec(3)}
		here := policy.Requester{Member: "m", Namespace: "a"}
		if refused := d.Check(t.Context(), here, nil, next); len(refused) != 1 {
			t.Errorf("%s: without the annotation %v is refused", story, refused)
		}
		next.Annotations = map[string]string{v1alpha1.AdoptAnnotation: "old"}
		if refused := d.Check(t.Context(), here, nil, next); len(refused) == 0 != c.passes {
			t.Errorf("%s: refused is %v", story, refused)
		}
	}
}
