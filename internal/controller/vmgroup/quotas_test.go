package vmgroup

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// ledgerOf gives a reconciler a ledger that is written manually, and the groups of the member.
func (r *rig) ledgerOf(rec *Reconciler, store quota.Store) *quota.Ledger {
	r.t.Helper()
	ledger := quota.New(quota.Options{
		Store: store, Lister: rec.Observer, Now: rec.Now,
		Listener: rec, Leader: new(shardingtest.Leader(true)), Inspector: rec,
	})
	rec.Quotas = ledger
	if err := rec.equip(); err != nil {
		r.t.Fatal(err)
	}
	r.inform(rec)
	return ledger
}

// inform does the work of the member's informers.
func (r *rig) inform(rec *Reconciler) {
	r.t.Helper()
	var list v1alpha1.VmGroupList
	if err := r.member.List(r.t.Context(), &list); err != nil {
		r.t.Fatal(err)
	}
	for i := range list.Items {
		rec.Fleet.SetGroup(refOf(requestOf(v1alpha1.LocalMember, &list.Items[i])), keyOf("member-uid", &list.Items[i]), &list.Items[i], "default")
	}
	rec.Fleet.List(v1alpha1.LocalMember)
}

// localKey is the ledger's key of a group of the local member.
func localKey(uid types.UID) quota.Key { return quota.Key{Member: v1alpha1.LocalMember, UID: uid} }

func quotaVMs(n int32) v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{VMs: &n, Scope: v1alpha1.QuotaNamespace, Retain: v1alpha1.RetainAllow}}
}

func flush(t testing.TB, ledgers ...*quota.Ledger) {
	t.Helper()
	for _, ledger := range ledgers {
		if err := ledger.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoReplicasRaceForTheLastPlacesOfAQuota(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(3))
	other := r.group().DeepCopy()
	other.ObjectMeta = metav1.ObjectMeta{Namespace: "team", Name: "api", UID: "6d1b1c5e-0000-4000-8000-000000000002", Generation: 1}
	if err := r.member.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	another := &rig{t: t, vcenter: r.vcenter, member: r.member, hub: r.hub, request: r.request}
	another.request.Name = "api"
	another.Reconciler = &Reconciler{
		Observer: r.like(), Shards: r.Shards, Records: r.records, HubWrites: r.HubWrites, vanished: newVanished(),
	}
	queued(t, another.Reconciler)
	another.serve()
	another.equipped()
	store := &quotatest.Store{}
	one, two := r.ledgerOf(r.Reconciler, store), another.ledgerOf(another.Reconciler, store)
	flush(t, one, two)

	// Each requests 2 of 3, and each replica reads before the other has written.
	for _, rig := range []*rig{r, another} {
		if result := rig.mustPass(); result.RequeueAfter != time.Second {
			t.Errorf("the group does not wait for the ledger: %+v", result)
		}
	}
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 0 {
		t.Fatalf("cloned before anything was granted: %v", calls)
	}
	flush(t, one, two)
	for range 8 {
		r.mustPass()
		another.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
	}
	says(t, r.group(), v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
	message := says(t, another.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonQuotaExceeded)
	const want = `spec.replicas: Invalid value: 2: exceeds the quota of 3 VMs of VmGroupPolicy "default" in namespace "team": 2 are used, 1 are left`
	if len(message) < len(want) || message[:len(want)] != want {
		t.Errorf("the message is %q, want %q", message, want)
	}
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs for a quota of 3 and two groups of 2", n)
	}

	// The first shrinks: the second gets the quota of its removed VM.
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1 })
	for range 16 {
		r.mustPass()
		another.mustPass()
		flush(t, one)
		store.Tell(two.Observe)
		flush(t, two)
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
	}
	says(t, another.group(), v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
	if n := len(r.vcenter.VMs()); n != 3 {
		t.Errorf("%d VMs, want 3", n)
	}

	// A deleted group leaves no charge.
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(8)
	flush(t, one)
	if entries := store.Entries(); len(entries) != 1 || entries[localKey("6d1b1c5e-0000-4000-8000-000000000002")].Usage.VMs != 2 {
		t.Errorf("the ledger holds %+v", entries)
	}
}

func TestWithoutTheLedgerNothingGrowsAndEverythingIsRepaired(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(30))
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	r.mustPass()
	flush(t, ledger)
	r.settle()
	store.OnWrite = func() quotatest.Fault { return quotatest.Refuse }
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 5 })
	r.vcenter.ByHand().Delete("web-1")
	r.mustPass()
	if err := ledger.Flush(t.Context()); err == nil {
		t.Fatal("the write did not fail")
	}
	g := r.work()
	says(t, g, v1alpha1.ConditionPolicyCompliant, "Unknown", v1alpha1.ReasonPolicyUnavailable)
	says(t, g, v1alpha1.ConditionReady, "False", v1alpha1.ReasonPolicyUnavailable)
	if len(r.vcenter.VMs()) != 2 || g.Status.Phase != v1alpha1.PhasePending {
		t.Errorf("%d VMs, phase %s; want the 2 that were admitted", len(r.vcenter.VMs()), g.Status.Phase)
	}
	store.OnWrite = nil
	flush(t, ledger)
	if r.settle(); len(r.vcenter.VMs()) != 5 {
		t.Errorf("%d VMs once the hub is back, want 5", len(r.vcenter.VMs()))
	}
}

func TestAQuotaThatComesLaterCountsWhatIsThere(t *testing.T) {
	r := newRig(t)
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	r.settle()
	if reads, writes := store.Requests(); reads+writes != 0 {
		t.Errorf("%d reads and %d writes without any quota", reads, writes)
	}
	r.setPolicy(quotaVMs(1))
	flush(t, ledger)
	g := r.work()
	says(t, g, v1alpha1.ConditionPolicyCompliant, "True", v1alpha1.ReasonPolicyAllows)
	flush(t, ledger)
	if e := store.Entries()[localKey(g.UID)]; e.Usage.VMs != 2 || len(r.vcenter.VMs()) != 2 {
		t.Errorf("the ledger says %+v of a group with %d VMs", e, len(r.vcenter.VMs()))
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	says(t, r.work(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonQuotaExceeded)
	// An unchanged group causes no cost.
	reads, writes := store.Requests()
	for range 3 {
		r.mustPass()
		flush(t, ledger)
	}
	if r, w := store.Requests(); r != reads || w != writes {
		t.Errorf("%d reads and %d writes for a group that did not change", r-reads, w-writes)
	}
}

func TestACacheThatIsBehindGivesNothingBack(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(10))
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	flush(t, ledger)
	r.mustPass()
	flush(t, ledger)
	r.settle()
	old := r.group()
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
	r.mustPass()
	flush(t, ledger)
	r.settle()
	// Another replica takes over with a cache that shows the group as it was with 2 VMs.
	live := r.Clusters
	r.Clusters = testCluster{client: cached{Client: r.member, group: old}, live: r.member}
	r.memory.forget(r.object())
	r.gate.epoch.Number++
	r.mustPass()
	flush(t, ledger)
	if e := store.Entries()[localKey(old.UID)]; e.Usage.VMs != 4 {
		t.Errorf("the ledger was lowered to %d VMs of a group that has 4", e.Usage.VMs)
	}
	r.Clusters = live
}

func TestGroupsAreJudgedForTheStatusOfPolicies(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(2))
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	flush(t, ledger)
	r.mustPass()
	flush(t, ledger)
	r.settle()
	judged := func() (groups int, rules string) {
		t.Helper()
		set, _ := r.Policies(t.Context())
		if err := (&observe.Reviewer{Observer: r.Observer, Quotas: ledger}).EvaluateAll(t.Context(), set, func(who policy.Requester, violations []policy.Violation) {
			if groups++; who.Member != v1alpha1.LocalMember || who.Namespace != "team" {
				t.Errorf("judged as %+v", who)
			}
			for _, v := range violations {
				rules += string(v.Rule) + " "
			}
		}); err != nil {
			t.Fatal(err)
		}
		return groups, rules
	}
	if groups, rules := judged(); groups != 1 || rules != "" {
		t.Errorf("%d groups break %q", groups, rules)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	if _, rules := judged(); rules != "QuotaVMs " {
		t.Errorf("a group beyond its quota breaks %q", rules)
	}
	spec := onlyTemplates("/DC0/vm/images/*")
	spec.Templates.MustExist = true
	r.setPolicy(spec)
	if _, rules := judged(); rules != "TemplateAllowed " {
		t.Errorf("a template in another folder breaks %q", rules)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template = "nope" })
	if _, rules := judged(); rules != "TemplateExists " {
		t.Errorf("a template that does not exist breaks %q", rules)
	}
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	if groups, _ := judged(); groups != 0 {
		t.Error("a group that is being deleted is exempt")
	}
}

func TestCloningLargeAndEditingSmallFreesNoQuota(t *testing.T) {
	r := newRig(t)
	limit := int64(10)
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{CPU: &limit, Scope: v1alpha1.QuotaNamespace}})
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	rounds := func() {
		for range 8 {
			r.inform(r.Reconciler)
			r.mustPass()
			flush(t, ledger)
			r.vcenter.Finish(-1)
			r.now = r.now.Add(2 * time.Second)
		}
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 4 })
	rounds()
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.CPU, s.UpdateStrategy = 1, &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
	})
	rounds()
	key := localKey(r.group().UID)
	if used := store.Entries()[key].Usage.CPU; used != 8 {
		t.Errorf("the ledger counts %d CPUs for two VMs of 4", used)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 5 })
	rounds()
	cpus := int32(0)
	for _, vm := range r.vcenter.VMs() {
		cpus += vm.CPU
	}
	if cpus > 10 {
		t.Errorf("%d CPUs run with a quota of 10", cpus)
	}
	says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
	rounds()
	if n := len(r.vcenter.VMs()); n != 4 {
		t.Errorf("%d VMs; two of 4 CPUs and two of 1 fit into 10: %s", n, words(r.group().Status.Conditions))
	}
}

func TestVMsWhoseGroupLostItsFinalizerStayChargedUntilTheyAreGone(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(5))
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	r.rounds(8, ledger)
	g := r.group()
	g.Finalizers = nil
	if err := r.member.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := r.member.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.mustPass()
	collect := func() int64 {
		for range 3 {
			r.now = r.now.Add(7 * time.Minute)
			ledger.Collect(t.Context())
			flush(t, ledger)
		}
		return store.Entries()[localKey(g.UID)].Usage.VMs
	}
	if used := collect(); used != 2 {
		t.Errorf("two VMs run without their group, and the ledger counts %d", used)
	}
	r.vcenter.Disconnect(nil)
	for _, name := range []string{"web-0", "web-1"} {
		r.vcenter.ByHand().Delete(name)
	}
	if used := collect(); used != 2 {
		t.Errorf("the state of the VMs is unknown, and the ledger counts %d", used)
	}
	r.vcenter.Reconnect()
	if used := collect(); used != 0 {
		t.Errorf("the VMs were deleted, and the ledger counts %d", used)
	}
}

// underQuota runs passes over a group with a quota of VMs, and returns what checks them.
func (r *rig) underQuota(n int32) (store *quotatest.Store, ledger *quota.Ledger, rounds func(int)) {
	r.t.Helper()
	r.setPolicy(quotaVMs(n))
	store = &quotatest.Store{}
	ledger = r.ledgerOf(r.Reconciler, store)
	return store, ledger, func(n int) {
		for range n {
			r.inform(r.Reconciler)
			r.mustPass()
			flush(r.t, ledger)
			r.vcenter.Finish(-1)
			r.now = r.now.Add(2 * time.Second)
		}
	}
}

func TestRetainAndScalingUpAgainGivesNoMoreThanTheQuota(t *testing.T) {
	r := newRig(t)
	_, _, rounds := r.underQuota(3)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas, s.DeletionPolicy = 3, v1alpha1.DeletionRetain })
	rounds(8)
	for _, replicas := range []int32{0, 3, 0, 3} {
		r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = replicas })
		rounds(12)
	}
	if n := len(r.vcenter.VMs()); n != 3 {
		t.Errorf("%d VMs exist under a quota of 3", n)
	}
	if message := says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded); !strings.Contains(message, "3 VMs that this group retained count") {
		t.Errorf("the message does not name the retained VMs: %s", message)
	}
	// The hub administrator releases one.
	r.vcenter.ByHand().Edit("web-0", func(vm *vsphere.VM) { vm.Released = nil })
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1 })
	rounds(12)
	if n := len(r.vcenter.VMs()); n != 4 {
		t.Errorf("%d VMs; two released ones are charged, so there is room for one more", n)
	}
}

func TestVMsThatADeletedGroupRetainedStayChargedUntilTheyAreLetGo(t *testing.T) {
	r := newRig(t)
	store, ledger, rounds := r.underQuota(3)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas, s.DeletionPolicy = 3, v1alpha1.DeletionRetain })
	rounds(8)
	g := r.group()
	if err := r.member.Delete(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	rounds(8)
	collect := func() int64 {
		for range 3 {
			r.now = r.now.Add(7 * time.Minute)
			ledger.Collect(t.Context())
			flush(t, ledger)
		}
		return store.Entries()[localKey(g.UID)].Usage.VMs
	}
	if used := collect(); used != 3 || len(r.vcenter.VMs()) != 3 {
		t.Errorf("%d VMs were retained, and the ledger counts %d", len(r.vcenter.VMs()), used)
	}
	anew := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name, UID: "6d1b1c5e-0000-4000-8000-00000000000b", Generation: 1}, Spec: g.Spec}
	if err := r.member.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	rounds(8)
	if n := len(r.vcenter.VMs()); n != 3 {
		t.Errorf("%d VMs exist under a quota of 3", n)
	}
	for _, vm := range r.vcenter.VMs() {
		r.vcenter.ByHand().Edit(vm.Ref.Value, func(vm *vsphere.VM) { vm.Released = nil })
	}
	if used := collect(); used != 0 {
		t.Errorf("the VMs were released, and the ledger counts %d", used)
	}
}

// An installation whose groups retain VMs under a quota is updated.
func TestAGroupThatRetainsUnderAQuotaIsKeptAndDoesNotGrow(t *testing.T) {
	r := newRig(t)
	_, _, rounds := r.underQuota(5)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain })
	rounds(8)
	quota := quotaVMs(5)
	quota.Quota.Retain = ""
	r.setPolicy(quota)
	r.vcenter.ByHand().Delete("web-1")
	rounds(8)
	says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyTightened)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs; the lost one should be back", n)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	rounds(8)
	if message := says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated); !strings.Contains(message, "spec.deletionPolicy") || len(r.vcenter.VMs()) != 2 {
		t.Errorf("%d VMs: %s", len(r.vcenter.VMs()), message)
	}
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	rounds(8)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs are left of the 2 that were to be retained", n)
	}
}
