package vmgroup

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const heirUID = types.UID("0a1b2c3d-0000-4000-8000-00000000beef")

// released settles the group, and deletes it so that its VMs stay. It returns its UID and the state of its VMs.
func (r *rig) released() (old types.UID, vms []vsphere.VM) {
	r.t.Helper()
	g := r.settle()
	vms = r.vcenter.VMs()
	r.annotate(v1alpha1.ReleaseAnnotation, string(g.UID))
	r.delete()
	if !r.gone() {
		r.t.Fatalf("the group stays: %s", words(r.group().Status.Conditions))
	}
	return g.UID, vms
}

// heir makes the group that adopts VMs, under another name.
func (r *rig) heir(uid types.UID, from string, replicas int32) {
	r.t.Helper()
	g := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "shop", UID: uid, Generation: 1, CreationTimestamp: metav1.NewTime(r.now),
			Annotations: map[string]string{v1alpha1.AdoptAnnotation: from},
		},
		Spec: v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &replicas},
	}
	if err := r.member.Create(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
	r.request.NamespacedName = types.NamespacedName{Namespace: "team", Name: "shop"}
	r.vcenter.ClearJournal()
}

// took checks that the group has exactly these VMs, unchanged except for name, folder and stamp, and that vCenter got no other request.
func (r *rig) took(vms []vsphere.VM) {
	r.t.Helper()
	r.tookOver(vms)
	for _, kind := range []vsphere.OperationKind{vsphere.OpClone, vsphere.OpPowerOn, vsphere.OpPowerOff, vsphere.OpShutdownGuest, vsphere.OpMark, vsphere.OpDestroy, vsphere.OpRelease} {
		if calls := r.vcenter.Calls(kind); len(calls) > 0 {
			r.t.Errorf("vCenter was asked for %v", calls)
		}
	}
}

func (r *rig) tookOver(vms []vsphere.VM) {
	r.t.Helper()
	g := r.group()
	for _, was := range vms {
		is, ok := r.vcenter.VM(was.Ref.Value)
		if !ok || is.Stamp == nil || is.Stamp.Group != string(g.UID) || is.Folder.Value != g.Status.Folder.MoRef || is.InstanceUUID != was.InstanceUUID || is.Power != was.Power ||
			is.Released != nil || is.Name != fmt.Sprintf("shop-%d", is.Stamp.Ordinal) {
			r.t.Errorf("%+v became %+v (stamp %+v)", was, is, is.Stamp)
		}
	}
}

// asksNothing checks that vCenter got no request.
func (r *rig) asksNothing() {
	r.t.Helper()
	if calls := r.vcenter.Calls(); len(calls) > 0 {
		r.t.Errorf("vCenter was asked for %v", calls)
	}
}

func (r *rig) condition(conditionType string) metav1.Condition {
	r.t.Helper()
	c := meta.FindStatusCondition(r.group().Status.Conditions, conditionType)
	if c == nil {
		r.t.Fatalf("there is no condition %s: %s", conditionType, words(r.group().Status.Conditions))
	}
	return *c
}

func TestTheVMsOfAReleasedGroupAreTakenOver(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	r.heir(heirUID, string(old), 2)
	g := r.settle()
	r.took(vms)
	if len(r.vcenter.VMs()) != 2 || g.Status.AdoptedFrom != string(old) || g.Status.Replicas != 2 || g.Status.UpdatedReplicas != 2 {
		t.Errorf("%d VMs, status %+v", len(r.vcenter.VMs()), g.Status)
	}
	says(t, g, v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonAdoptionEnded)
	if tree := r.vcenter.Tree(); strings.Contains(tree, "web.") {
		t.Errorf("the folder is still in use: %s", tree)
	}
	if calls := r.vcenter.Calls("DestroyFolder"); len(calls) != 1 {
		t.Errorf("the old folder was removed by %v", calls)
	}
	if by := r.receipt(vsphere.KeyOf("member-uid", string(old))).AdoptedBy; by == nil || by.GroupUID != string(heirUID) {
		t.Errorf("the receipt says %+v", by)
	}
	// The annotation stays, and causes no cost.
	r.vcenter.ClearJournal()
	r.memory.forget(r.object())
	store := r.Receipts
	r.Receipts = nil
	r.equipped()
	r.rounds(3)
	r.asksNothing()
	// Nor does it after the receipt was deleted, and the member was restored from a backup.
	r.Receipts = store
	r.equipped()
	if err := store.Remove(t.Context(), vsphere.KeyOf("member-uid", string(old))); err != nil {
		t.Fatal(err)
	}
	r.memory = memory{}
	r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
	if g := r.settle(); g.Status.AdoptedFrom != string(old) || g.Status.Replicas != 2 {
		t.Errorf("status became %+v", g.Status)
	}
	r.asksNothing()
}

func TestAGroupThatPolicyRefusesTakesNothingOver(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Max: new(int32(1))}}})
	r.heir(heirUID, string(old), 2)
	r.rounds(4)
	r.asksNothing()
	says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyViolated)
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Max: new(int32(2))}}})
	r.settle()
	r.took(vms)
}

// A successor has only its own observations: each pass is another process.
func TestATakeoverInTheMiddleGoesOn(t *testing.T) {
	for wiped := range 2 {
		r := newRig(t)
		old, vms := r.released()
		r.heir(heirUID, string(old), 2)
		for range 40 {
			r.memory = memory{}
			r.gate.epoch.Number++
			r.mustPass()
			r.vcenter.Finish(-1)
			r.now = r.now.Add(2 * time.Second)
			if wiped == 1 {
				r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
			}
		}
		r.settle()
		r.took(vms)
		if len(r.vcenter.VMs()) != 2 {
			t.Errorf("there are %d VMs", len(r.vcenter.VMs()))
		}
	}
}

func TestTwoGroupsThatNameTheSameOneNeverBothTakeItsVMs(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	r.heir(heirUID, string(old), 2)
	first := r.request
	r.mustPass()
	second := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "late", UID: "6d1b1c5e-0000-4000-8000-00000000dead", Generation: 1, Annotations: map[string]string{v1alpha1.AdoptAnnotation: string(old)}},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: new(int32(2))},
	}
	if err := r.member.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	r.request.Name = "late"
	r.rounds(3)
	if c := r.condition(v1alpha1.ConditionStalled); c.Reason != v1alpha1.ReasonAdoptionRefused || !strings.Contains(c.Message, "VmGroup shop") {
		t.Errorf("condition Stalled of the second group: %s: %s", c.Reason, c.Message)
	}
	r.request = first
	r.settle()
	r.took(vms)
	if len(r.vcenter.VMs()) != 2 {
		t.Errorf("there are %d VMs", len(r.vcenter.VMs()))
	}
}

func TestMoreVMsThanAreWantedAreLeftAndFewerAreCompleted(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	r.heir(heirUID, string(old), 1)
	r.settle()
	r.rounds(3)
	r.took(vms[:1])
	left, _ := r.vcenter.VM(vms[1].Ref.Value)
	if left.Stamp.Group != string(old) || left.Name != "web-1" || left.Power != vsphere.PoweredOn {
		t.Errorf("the surplus VM is %+v", left)
	}
	if c := r.condition(v1alpha1.ConditionAdopted); c.Status != "True" || !strings.Contains(c.Message, "1 VM that spec.replicas leaves no room for") {
		t.Errorf("condition Adopted: %s: %s", c.Status, c.Message)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	r.rounds(2)
	if clones := r.clones(); clones != 0 {
		t.Errorf("%d VMs were cloned before all were taken over", clones)
	}
	for range 10 {
		r.rounds(1)
	}
	if g := r.settle(); g.Status.Replicas != 3 || r.clones() != 1 || len(r.vcenter.VMs()) != 3 {
		t.Errorf("%d VMs, %d cloned, %d in vCenter", g.Status.Replicas, r.clones(), len(r.vcenter.VMs()))
	}
	if vm, _ := r.vcenter.VM(vms[1].Ref.Value); vm.Stamp.Group != string(heirUID) || vm.Name != "shop-1" {
		t.Errorf("the second VM is %+v", vm)
	}
	says(t, r.group(), v1alpha1.ConditionAdopted, "True", v1alpha1.ReasonAdoptionEnded)
}

func TestVMsThatWereRetainedAreTakenOverWithoutAReceipt(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain })
	old, vms := r.settle().UID, r.vcenter.VMs()
	r.delete()
	for i := 0; i < 10 && !r.gone(); i++ {
		r.rounds(1)
	}
	r.heir(heirUID, string(old), 2)
	r.settle()
	r.took(vms)
	if receipt := r.receipt(vsphere.KeyOf("member-uid", string(old))); receipt == nil || receipt.Cause != receipts.Adopted || receipt.Group != "web" {
		t.Errorf("the receipt is %+v", receipt)
	}
}

func TestVMsWhoseGroupVanishedAreTakenOverOnAWordOfTheHub(t *testing.T) {
	r := newRig(t)
	old, vms := r.settle().UID, r.vcenter.VMs()
	g := r.group()
	g.Finalizers = nil
	if err := r.member.Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.delete()
	r.heir(heirUID, string(old), 2)
	r.rounds(3)
	r.asksNothing()
	if c := r.condition(v1alpha1.ConditionStalled); c.Reason != v1alpha1.ReasonAdoptionNotAllowed || !strings.Contains(c.Message, "annotate membercluster") {
		t.Errorf("condition Stalled: %s: %s", c.Reason, c.Message)
	}
	word := func(until time.Time) {
		r.memberIs(func(m *fleet.Member) { m.AdoptionUntil = until })
	}
	for _, until := range []time.Time{r.now.Add(2 * time.Hour), r.now.Add(-time.Second)} {
		word(until)
		r.rounds(3)
		r.asksNothing()
	}
	if r.receipt(vsphere.KeyOf("member-uid", string(old))) != nil {
		t.Error("the VMs were claimed without a permission")
	}
	word(r.now.Add(30 * time.Minute))
	r.settle()
	r.took(vms)
}

func TestWhatIsNotTheNamespacesIsNotTakenOver(t *testing.T) {
	for name, spoil := range map[string]func(r *rig, old string) (from string){
		"no UID":         func(*rig, string) string { return "a/b" },
		"its own UID":    func(*rig, string) string { return string(heirUID) },
		"an unknown UID": func(*rig, string) string { return "6d1b1c5e-0000-4000-8000-0000000000ff" },
		"a receipt of another namespace": func(r *rig, old string) string {
			key := vsphere.KeyOf("member-uid", old)
			receipt := *r.receipt(key)
			receipt.Namespace = "another"
			if err := errors.Join(r.Receipts.Remove(r.t.Context(), key), r.Receipts.Write(r.t.Context(), receipt)); err != nil {
				r.t.Fatal(err)
			}
			return old
		},
		"a mark of another namespace": func(r *rig, old string) string {
			if err := r.Receipts.Remove(r.t.Context(), vsphere.KeyOf("member-uid", old)); err != nil {
				r.t.Fatal(err)
			}
			for _, vm := range r.vcenter.VMs() {
				r.vcenter.ByHand().Edit(vm.Ref.Value, func(vm *vsphere.VM) {
					vm.Released, vm.Stamp = &vsphere.ReleaseMark{GroupID: vm.Stamp.GroupID, Namespace: "another", Ordinal: vm.Stamp.Ordinal}, nil
				})
			}
			return old
		},
		"orphans in the folder of another namespace": func(r *rig, old string) string {
			if err := r.Receipts.Remove(r.t.Context(), vsphere.KeyOf("member-uid", old)); err != nil {
				r.t.Fatal(err)
			}
			r.memberIs(func(m *fleet.Member) { m.AdoptionUntil = r.now.Add(30 * time.Minute) })
			folder := r.vcenter.VMs()[0].Folder
			namespace := r.vcenter.Observe(vsphere.Query{Folder: folder}).Folder.Parent
			member := r.vcenter.Observe(vsphere.Query{Folder: namespace}).Folder.Parent
			r.vcenter.ByHand().MoveFolderInto(folder, r.vcenter.ByHand().AddFolder(member, "another"))
			return old
		},
		"a group that exists": func(r *rig, old string) string {
			g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "back", UID: types.UID(old)}}
			if err := r.member.Create(r.t.Context(), g); err != nil {
				r.t.Fatal(err)
			}
			r.inform(r.Reconciler)
			return old
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			old, _ := r.released()
			r.heir(heirUID, spoil(r, string(old)), 2)
			r.rounds(4)
			r.asksNothing()
			if c := r.condition(v1alpha1.ConditionStalled); c.Reason != v1alpha1.ReasonAdoptionRefused {
				t.Errorf("condition Stalled: %s: %s", c.Reason, c.Message)
			}
			g := r.group()
			g.Annotations = nil
			if err := r.member.Update(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			if g := r.settle(); r.clones() != 2 || g.Status.AdoptedFrom != "" {
				t.Errorf("without the annotation %d VMs were cloned", r.clones())
			}
		})
	}
}

func TestUnknownIsNotNothingToTakeOver(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	store := r.Receipts
	r.refuse("get")
	r.heir(heirUID, string(old), 2)
	r.rounds(3)
	r.asksNothing()
	says(t, r.group(), v1alpha1.ConditionAdopted, "False", v1alpha1.ReasonAdoptionWaits)
	r.refuse("update")
	r.rounds(3)
	r.asksNothing()
	r.Receipts = store
	r.equipped()
	r.refuse("")
	r.vcenter.Hide(vms[1].Name)
	r.rounds(3)
	r.asksNothing()
	r.vcenter.Show(vms[1].Name)
	r.settle()
	r.took(vms)
}

func TestAForeignVMThatHasTheNameKeepsIt(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	folder, err := r.vcenter.EnsureFolder(vsphere.WithFence(t.Context(), func() error { return nil }), vsphere.FolderPath{Member: v1alpha1.LocalMember, Namespace: "team", Leaf: "shop.0a1b2c3d"})
	if err != nil {
		t.Fatal(err)
	}
	foreign := r.vcenter.ByHand().AddForeignVM(folder.Ref, "shop-0")
	r.heir(heirUID, string(old), 2)
	r.settle()
	r.took(vms)
	if vm, _ := r.vcenter.VM(foreign.Value); vm.Name != "shop-0" || vm.Folder != folder.Ref || vm.Power != vsphere.PoweredOn || vm.Stamp != nil {
		t.Errorf("the foreign VM is %+v", vm)
	}
	if names := []int32{r.group().Status.VMs[0].Ordinal, r.group().Status.VMs[1].Ordinal}; !slices.Equal(names, []int32{1, 2}) && !slices.Equal(names, []int32{1, 0}) {
		t.Errorf("the VMs have ordinals %v", names)
	}
}

func TestAVMThatIsOffIsStartedOnceAllAreTakenOver(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	r.vcenter.ByHand().PowerOff(vms[0].Name)
	r.heir(heirUID, string(old), 2)
	for range 40 {
		r.mustPass()
		r.vcenter.Step()
		r.now = r.now.Add(time.Second)
		others := 0
		for _, vm := range r.vcenter.VMs() {
			if vm.Stamp.Group != string(heirUID) {
				others++
			}
		}
		if on := r.vcenter.Calls(vsphere.OpPowerOn); others > 0 && len(on) > 0 {
			t.Fatalf("%v while %d VMs are another group's", on, others)
		}
	}
	if vm, _ := r.vcenter.VM(vms[0].Ref.Value); vm.Power != vsphere.PoweredOn || len(r.vcenter.VMs()) != 2 {
		t.Errorf("in the end it is %+v", vm)
	}
}

func TestACopyOfAVMIsNotTakenOver(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	copied := r.vcenter.ByHand().CopyVM("web-0", "web-0-copy")
	r.heir(heirUID, string(old), 3)
	r.settle()
	r.tookOver(vms)
	if vm, _ := r.vcenter.VM(copied.Value); vm.Name != "web-0-copy" || vm.Stamp.Group != string(old) || r.clones() != 1 {
		t.Errorf("the copy is %+v, and %d VMs were cloned", vm, r.clones())
	}
}

func TestVMsAreTakenOverUnderAQuotaThatIsFull(t *testing.T) {
	r := newRig(t)
	store, ledger, rounds := r.underQuota(2)
	rounds(8)
	old, vms := r.released()
	flush(t, ledger)
	advice := func(from string, replicas int32) int {
		g := &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop", Annotations: map[string]string{v1alpha1.AdoptAnnotation: from}},
			Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &replicas},
		}
		return len(ledger.Check(t.Context(), policy.Requester{Member: v1alpha1.LocalMember, Namespace: "team"}, nil, g))
	}
	if refused := advice(string(old), 2); refused != 0 {
		t.Error("the quota check refuses the group that adopts the VMs")
	}
	for _, refused := range []int{advice(string(old), 3), advice("", 2), advice(string(heirUID), 2)} {
		if refused == 0 {
			t.Error("the quota check does not refuse a group above the quota")
		}
	}
	r.heir(heirUID, string(old), 2)
	rounds(14)
	r.took(vms)
	g := r.group()
	says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
	says(t, g, v1alpha1.ConditionPolicyCompliant, "True", v1alpha1.ReasonPolicyAllows)
	if now := store.Entries(); now[localKey(old)].Usage.VMs != 0 || now[localKey(heirUID)].Usage.VMs != 2 {
		t.Errorf("the ledger counts %+v", now)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	rounds(8)
	if says(t, r.group(), v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded); len(r.vcenter.VMs()) != 2 {
		t.Errorf("%d VMs exist under a quota of 2", len(r.vcenter.VMs()))
	}
}

// A user sets the annotation, so that no room is needed, and removes it before the VMs are adopted.
func TestNobodyGetsRoomByAnAnnotation(t *testing.T) {
	r := newRig(t)
	_, ledger, rounds := r.underQuota(2)
	rounds(8)
	old, _ := r.released()
	flush(t, ledger)
	r.heir(heirUID, string(old), 2)
	for range 2 {
		for _, from := range []string{string(old), "", string(heirUID), ""} {
			r.annotate(v1alpha1.AdoptAnnotation, from)
			for range 4 { // vCenter executes no task meanwhile
				r.inform(r.Reconciler)
				r.mustPass()
				flush(t, ledger)
				r.now = r.now.Add(2 * time.Second)
			}
		}
	}
	rounds(8)
	if n := len(r.vcenter.VMs()); n != 2 || r.clones() > 0 {
		t.Errorf("%d VMs exist under a quota of 2, %d were cloned", n, r.clones())
	}
}

// A restored member can have the group again whose VMs are being adopted.
func TestNothingIsTakenFromAGroupThatIsBack(t *testing.T) {
	r := newRig(t)
	old, vms := r.released()
	r.heir(heirUID, string(old), 2)
	r.mustPass()
	r.vcenter.Step() // one VM was moved
	back := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: old}}
	if err := r.member.Create(t.Context(), back); err != nil {
		t.Fatal(err)
	}
	r.inform(r.Reconciler)
	r.rounds(4)
	says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAdoptionRefused)
	for _, was := range vms {
		if vm, _ := r.vcenter.VM(was.Ref.Value); vm.Stamp.Group != string(old) {
			t.Errorf("%s was taken from a group that is there", vm.Name)
		}
	}
}
