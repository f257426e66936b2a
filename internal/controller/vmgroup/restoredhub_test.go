package vmgroup

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// restoredHub is a hub that is restored from a backup, with its ledger of quotas, admitted specs, and receipts.
type restoredHub struct {
	*rig
	store  *quotatest.Store
	ledger *quota.Ledger
	// backup is the version of the ledger in the backup, and recorded the admitted specs.
	backup   int
	recorded map[admitted.Key]admitted.Entry
}

func (h *restoredHub) backsUp() { h.backup, h.recorded = h.store.Version(), h.records.Backup() }

// restore restores the backup, with a revision bump.
func (h *restoredHub) restore() {
	h.store.GoBack(h.backup, 1000)
	h.records.GoBack(h.recorded)
	h.store.Tell(h.ledger.Observe)
}

// other makes another group, which requests so many VMs in a vCenter, and returns how many it gets.
func (h *restoredHub) other(vcenter string, replicas int32) int {
	h.t.Helper()
	g := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "waits", UID: "00000000-0000-4000-8000-00000000000a", Generation: 1, CreationTimestamp: metav1.NewTime(h.now)},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &replicas, VCenter: vcenter},
	}
	if err := h.member.Create(h.t.Context(), g); err != nil {
		h.t.Fatal(err)
	}
	h.informOf(vcenter)
	request := h.request
	request.Name = g.Name
	server, _ := h.Servers.Server(vcenter)
	for range 10 {
		if _, err := h.Reconcile(h.t.Context(), request); err != nil {
			h.t.Fatal(err)
		}
		flush(h.t, h.ledger)
		server.(*fake.Server).Finish(-1)
		h.now = h.now.Add(2 * time.Second)
	}
	n := 0
	for _, vm := range server.(*fake.Server).VMs() {
		if vm.Stamp != nil && vm.Stamp.Group == string(g.UID) {
			n++
		}
	}
	return n
}

// informOf does the work of the member's informers, for groups that name their vCenter.
func (h *restoredHub) informOf(vcenter string) {
	h.inform(h.Reconciler)
	var list v1alpha1.VmGroupList
	if err := h.member.List(h.t.Context(), &list); err != nil {
		h.t.Fatal(err)
	}
	for i := range list.Items {
		if g := &list.Items[i]; g.Spec.VCenter == vcenter {
			h.Fleet.SetGroup(refOf(requestOf(v1alpha1.LocalMember, g)), keyOf("member-uid", g), g, vcenter)
		}
	}
}

// newRestoredHub has a quota, a group of one VM in vCenter "default", and another vCenter.
func newRestoredHub(t *testing.T, spec v1alpha1.VmGroupPolicySpec, replicas int32) *restoredHub {
	r := newRig(t)
	second := fake.New(fake.Options{Now: func() time.Time { return r.now }})
	second.AddTemplate(vsphere.Template{Name: "debian-12"})
	r.Servers = fake.Servers{"default": r.vcenter, "second": second}
	if err := r.hub.Create(t.Context(), &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "second"}}); err != nil {
		t.Fatal(err)
	}
	h := &restoredHub{rig: r, store: &quotatest.Store{}}
	r.setPolicy(spec)
	h.ledger = r.ledgerOf(r.Reconciler, h.store)
	h.wants(replicas)
	return h
}

// wants scales the group and waits until it has so many VMs.
func (h *restoredHub) wants(replicas int32) {
	h.t.Helper()
	h.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = &replicas })
	for range 12 {
		h.inform(h.Reconciler)
		h.mustPass()
		flush(h.t, h.ledger)
		h.vcenter.Finish(-1)
		h.now = h.now.Add(2 * time.Second)
	}
	h.inform(h.Reconciler)
	if n := len(h.vcenter.VMs()); n != int(replicas) {
		h.t.Fatalf("%d VMs, want %d: %s", n, replicas, words(h.group().Status.Conditions))
	}
}

// A group makes no claim while its vCenter is unreachable.
func TestAnOldRecordHidesNothingOfWhatStatusShows(t *testing.T) {
	h := newRestoredHub(t, quotaVMs(5), 1)
	h.backsUp()
	h.wants(4)
	second, _ := h.Servers.Server("second")
	h.Servers = fake.Servers{"second": second.(*fake.Server)} // the operator was restarted, and the other has not answered since
	h.restore()
	if n := h.other("second", 4); n != 0 {
		t.Errorf("4 + %d VMs exist under a quota of 5", n)
	}
}

// Hub and member are restored from a backup together, including status.
func TestAnOldRecordAndAnOldStatusHideNothingOfWhatVCenterShows(t *testing.T) {
	h := newRestoredHub(t, quotaVMs(5), 1)
	h.backsUp()
	before := h.group()
	h.wants(4)
	h.restore()
	now := h.group()
	now.Spec = before.Spec
	if err := h.member.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	now.Status = before.Status
	if err := h.member.Status().Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	h.inform(h.Reconciler)
	if n := h.other("second", 4); n != 0 {
		t.Errorf("4 + %d VMs exist under a quota of 5", n)
	}
}

// Users with write access to status can write any number there.
func TestAStatusThatWasMadeUpFillsNoMoreOfATotalThanOneGroupMayHave(t *testing.T) {
	rule := quotaVMs(10)
	rule.Limits = &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Max: new(int32(6))}}
	for story, recorded := range map[string]bool{"beside a record": true, "without a record": false} {
		t.Run(story, func(t *testing.T) {
			h := newRestoredHub(t, rule, 1)
			h.status(func(s *v1alpha1.VmGroupStatus) { s.Admitted.Replicas, s.Admitted.CPU, s.Replicas = 500, 700, 500 })
			if !recorded {
				h.records.Lose()
			}
			h.inform(h.Reconciler)
			if n := h.other("second", 4); n != 4 {
				t.Errorf("one group may have 6 of 10 VMs, and the other gets %d of 4", n)
			}
			if e := h.store.Entries()[localKey(h.group().UID)]; e.Usage.VMs > 6 {
				t.Errorf("the ledger counts %+v", e.Usage)
			}
		})
	}
}

// receiptsFrom has one receipt in memory.
type receiptsFrom map[receipts.Key]receipts.Receipt

func (k receiptsFrom) Of(key receipts.Key) (receipts.Receipt, bool) {
	r, has := k[key]
	return r, has
}

// goes releases the group without its VMs, and the caches miss it.
func (h *restoredHub) goes(keep func()) (uid types.UID) {
	h.t.Helper()
	uid = h.group().UID
	keep()
	g := h.group()
	g.Finalizers = nil
	if err := h.member.Update(h.t.Context(), g); err != nil {
		h.t.Fatal(err)
	}
	if err := h.member.Delete(h.t.Context(), g); err != nil {
		h.t.Fatal(err)
	}
	h.Fleet.DeleteGroup(refOf(h.request))
	return uid
}

func TestVMsThatWereKeptSinceTheBackupCountAsTheyAre(t *testing.T) {
	marks := func(h *restoredHub) {
		for _, vm := range h.vcenter.VMs() {
			h.vcenter.ByHand().Edit(vm.Ref.Value, func(vm *vsphere.VM) {
				vm.Released = &vsphere.ReleaseMark{GroupID: vm.Stamp.GroupID, Namespace: "team", Ordinal: vm.Stamp.Ordinal}
				vm.Stamp = nil
			})
		}
	}
	receipt := func(cause receipts.Cause) func(*restoredHub) {
		return func(h *restoredHub) {
			h.KnownReceipts = receiptsFrom{h.key(): {Cause: cause, MemberUID: "member-uid", Namespace: "team", Group: "web", GroupUID: string(h.group().UID)}}
		}
	}
	for story, c := range map[string]struct {
		// inBackup is the number of the group's VMs in the backup; none if it is newer.
		inBackup int32
		keep     func(*restoredHub)
		counts   int64
	}{
		"the backup has its group smaller":                   {3, receipt(receipts.Released), 6},
		"its group is newer than the backup, with a receipt": {0, receipt(receipts.Released), 6},
		"its group is newer than the backup, with marks":     {0, marks, 6},
		"its group is newer, with marks, and they lie elsewhere": {0, func(h *restoredHub) {
			folder := h.othersFolder()
			for _, vm := range h.vcenter.VMs() {
				h.vcenter.ByHand().Edit(vm.Ref.Value, func(vm *vsphere.VM) { vm.Folder = folder.Ref })
			}
			marks(h)
		}, 6},
		"its group is newer, and only their folder names it": {0, func(*restoredHub) {}, 6},
		"its group was forgotten":                            {0, receipt(receipts.Forgotten), 0},
		"another group adopts them":                          {0, receipt(receipts.Adopted), 0},
	} {
		t.Run(story, func(t *testing.T) {
			h := newRestoredHub(t, quotaVMs(9), c.inBackup)
			if c.inBackup == 0 {
				h.store.Lose()
				h.backup = h.store.Version()
			} else {
				h.backsUp()
			}
			h.wants(6)
			uid := h.goes(func() { c.keep(h) })
			h.store.GoBack(h.backup, 1000)
			h.store.Tell(h.ledger.Observe)
			if n := h.other("second", 6); n != 0 && c.counts > 0 {
				t.Errorf("6 VMs were kept, and %d more exist under a quota of 9", n)
			}
			if e := h.store.Entries()[localKey(uid)]; e.Usage.VMs != c.counts {
				t.Errorf("6 kept VMs count as %d, want %d", e.Usage.VMs, c.counts)
			}
			// The leader also corrects the entry when they are removed.
			for _, vm := range h.vcenter.VMs()[:2] {
				h.vcenter.ByHand().Delete(vm.Ref.Value)
			}
			for range 3 {
				h.now = h.now.Add(12 * time.Minute)
				h.ledger.Collect(t.Context())
				flush(t, h.ledger)
			}
			if e := h.store.Entries()[localKey(uid)]; e.Usage.VMs != max(c.counts-2, 0) {
				t.Errorf("4 kept VMs count as %d", e.Usage.VMs)
			}
		})
	}
}

// The member does not answer since the operator was restarted, so no cache has its groups.
func TestAGroupOfAMemberThatIsAwayCountsWithWhatVCenterAndTheHubHaveOfIt(t *testing.T) {
	for story, lose := range map[string]func(*restoredHub){
		"the hub has a record": func(h *restoredHub) {
			for _, vm := range h.vcenter.VMs() {
				h.vcenter.ByHand().Delete(vm.Ref.Value)
			}
		},
		"vCenter has its VMs": func(h *restoredHub) { h.records.Lose() },
	} {
		t.Run(story, func(t *testing.T) {
			h := newRestoredHub(t, quotaVMs(5), 4)
			lose(h)
			h.Fleet.DeleteMember(v1alpha1.LocalMember)
			h.memberIs(func(*fleet.Member) {})
			all, err := h.Remnants(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatalf("known are %+v, %v", all, err)
			}
			r := all[0]
			if most := r.Holds.Max(r.Stands); most.VMs != 4 || r.UID != h.group().UID || r.Requester.Namespace != "team" || r.Requester.Member != v1alpha1.LocalMember || !r.Unlabeled {
				t.Errorf("known is %+v", r)
			}
		})
	}
}

// A status from before the first clone shows no VM. A group whose vCenter is unreachable is then removed when it is deleted,
// unless the hub has a record of it. Its VMs can exist all the same.
func TestAGroupThatGoesUnseenWithARestoredStatusCountsUntilItsVCenterIsSeen(t *testing.T) {
	r := newRig(t)
	r.setPolicy(quotaVMs(3))
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	flush(t, ledger)
	r.rounds(8, ledger)
	g := r.group()
	if e := store.Entries()[localKey(g.UID)]; e.Usage.VMs != 2 || len(r.vcenter.VMs()) != 2 {
		t.Fatalf("%+v is charged for %d VMs", e, len(r.vcenter.VMs()))
	}
	r.vcenter.Disconnect(nil)
	r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{ObservedGeneration: 1} })
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.mustPass()
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); err != nil {
		t.Fatalf("the hub has a record of VMs, and the group goes: %v", err)
	}
	r.records.Lose()
	r.mustPass()
	flush(t, ledger)
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) {
		t.Fatalf("the group does not go: %v", err)
	}
	if e := store.Entries()[localKey(g.UID)]; e.Usage.VMs != 2 {
		t.Errorf("the ledger charges %+v, want 2 VMs whose deletion is unconfirmed", e)
	}
}
