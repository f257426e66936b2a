package vmgroup

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/receipts/receiptstest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// annotate sets an annotation of the group, as kubectl does.
func (r *rig) annotate(annotation, value string) {
	r.t.Helper()
	g := r.group()
	metav1.SetMetaDataAnnotation(&g.ObjectMeta, annotation, value)
	if err := r.member.Update(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) unannotate(annotation string) {
	r.t.Helper()
	g := r.group()
	delete(g.Annotations, annotation)
	if err := r.member.Update(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
}

// receiptSums are the number and the bytes of the receipts of each member.
type receiptSums struct{ n, bytes int }

func (s receiptSums) Sum(string) (n, bytes int) { return s.n, s.bytes }

// annotatedByKubectl is an API server's record of the manager that set an annotation, which the fake one
// does not keep.
type annotatedByKubectl struct {
	client.Reader
	annotation string
}

func (c annotatedByKubectl) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if err := c.Reader.Get(ctx, key, into, opts...); err != nil {
		return err
	}
	sets := func(manager, annotation string, minute int) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{".":{},"f:` + annotation + `":{}}}}`)}
	}
	into.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "no fields"}, sets("argocd", c.annotation, 1), sets("kubectl-annotate", c.annotation, 3), sets("helm", c.annotation, 2), sets("another", "x", 4),
		{Manager: "spec", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)},
	})
	return nil
}

func (r *rig) delete() {
	r.t.Helper()
	if err := r.member.Delete(r.t.Context(), r.group()); err != nil {
		r.t.Fatal(err)
	}
}

// receipt of the group with this UID, or nil.
func (r *rig) receipt(key vsphere.GroupKey) *receipts.Receipt {
	r.t.Helper()
	receipt, err := r.Receipts.Read(r.t.Context(), key)
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt
}

func TestAReleasedGroupGoesAndItsVMsStayAsTheyAre(t *testing.T) {
	r := newRig(t)
	var told []string
	r.Clusters = testCluster{client: r.member, live: annotatedByKubectl{r.member, v1alpha1.ReleaseAnnotation}}
	r.MemberEvents = events.NewMembers(anyMember{}, memberEvents(func(member, reason, note string) { told = append(told, member+" "+reason+": "+note) }), r.Now)
	r.equipped()
	before := r.settle()
	key, vms := r.key(), r.vcenter.VMs()
	r.vcenter.ClearJournal()
	r.annotate(v1alpha1.ReleaseAnnotation, string(before.UID))
	r.mustPass()
	if r.receipt(key) != nil || len(r.group().Finalizers) == 0 {
		t.Fatal("a group without a deletion is released")
	}
	r.delete()
	if !r.gone() {
		t.Fatalf("the group stays: %s", words(r.group().Status.Conditions))
	}
	if calls := r.vcenter.Journal(); len(calls) > 0 || !slices.EqualFunc(vms, r.vcenter.VMs(), func(a, b vsphere.VM) bool {
		return a.Ref == b.Ref && a.Power == b.Power && a.Folder == b.Folder && *a.Stamp == *b.Stamp && a.ChangeVersion == b.ChangeVersion
	}) {
		t.Errorf("the VMs are not as they were: %v", calls)
	}
	want := receipts.Receipt{
		Cause: receipts.Released, MemberCluster: v1alpha1.LocalMember, MemberUID: "member-uid", Namespace: "team", Group: "web", GroupUID: string(before.UID),
		VCenter: "default", InstanceUUID: before.Status.VCenterInstanceUUID, Folder: receipts.Folder(*before.Status.Folder), By: "kubectl-annotate",
	}
	for _, vm := range before.Status.VMs {
		want.VMs = append(want.VMs, receipts.VM{Name: vm.Name, MoRef: vm.MoRef, UUID: vm.UUID, Ordinal: vm.Ordinal, Revision: vm.Revision})
	}
	receipt := r.receipt(key)
	if receipt != nil {
		want.Time = receipt.Time
	}
	if !reflect.DeepEqual(receipt, &want) {
		t.Fatalf("the receipt is %+v, want %+v", receipt, want)
	}
	if len(told) != 1 || !strings.Contains(told[0], "GroupReleased") || !strings.Contains(told[0], receipts.Name(key)) {
		t.Errorf("events on the hub: %q", told)
	}
}

func TestTheUIDOfAnotherObjectReleasesNothing(t *testing.T) {
	r := newRig(t)
	r.settle()
	key := r.key()
	r.annotate(v1alpha1.ReleaseAnnotation, "6d1b1c5e-0000-4000-8000-00000000000b")
	r.delete()
	r.mustPass()
	if message := says(t, r.group(), v1alpha1.ConditionReady, "False", v1alpha1.ReasonReleaseHeld); !strings.Contains(message, "release is \"6d1b1c5e-0000-4000-8000-00000000000b\", which is not the UID of this VmGroup") {
		t.Errorf("condition Ready: %s", message)
	}
	if r.gone() || len(r.vcenter.VMs()) != 2 || r.receipt(key) != nil {
		t.Errorf("%d VMs are kept, the receipt is %+v", len(r.vcenter.VMs()), r.receipt(key))
	}
	r.unannotate(v1alpha1.ReleaseAnnotation)
	if !r.gone() || len(r.vcenter.VMs()) > 0 || r.receipt(key) != nil {
		t.Errorf("%d VMs are kept without the annotation", len(r.vcenter.VMs()))
	}
}

// A deletion has begun, and one VM has its tombstone, when a user requests to keep the VMs.
func TestARevivedVMIsNoneButTheOthersAreKept(t *testing.T) {
	r := newRig(t)
	uid := string(r.settle().UID)
	key := r.key()
	r.delete()
	r.vcenter.FailTask(vsphere.OpMark, 1, &vsphere.Error{Kind: vsphere.KindTransient, Op: "mark"})
	r.mustPass()
	if n := len(r.vcenter.Calls(vsphere.OpMark)); n != 2 {
		t.Fatalf("%d VMs are being marked", n)
	}
	r.vcenter.Finish(-1)
	r.annotate(v1alpha1.ReleaseAnnotation, uid)
	r.now = r.now.Add(time.Minute)
	r.mustPass()
	message := says(t, r.group(), v1alpha1.ConditionReady, "False", v1alpha1.ReasonReleasing)
	if !strings.Contains(message, "marked for destruction before, which is not taken back: web-") {
		t.Errorf("the condition says %q", message)
	}
	if !r.gone() {
		t.Fatalf("the group stays: %s", words(r.group().Status.Conditions))
	}
	left := r.vcenter.VMs()
	if len(left) != 1 || left[0].Tombstone || left[0].Power != vsphere.PoweredOn {
		t.Fatalf("left are %+v", left)
	}
	if receipt := r.receipt(key); receipt == nil || len(receipt.VMs) != 1 || receipt.VMs[0].MoRef != left[0].Ref.Value {
		t.Errorf("the receipt is %+v", receipt)
	}
}

func TestAReleaseWaitsForWhatNobodySees(t *testing.T) {
	paused := func(r *rig, value string) { r.annotate(v1alpha1.PausedAnnotation, value) }
	for story, c := range map[string]struct {
		begin, end func(*rig)
		reason     string
	}{
		"the vCenter is unreachable":   {func(r *rig) { r.vcenter.Disconnect(nil) }, func(r *rig) { r.vcenter.Reconnect() }, v1alpha1.ReasonVCenterUnreachable},
		"the inventory is incomplete":  {func(r *rig) { r.vcenter.SetIncomplete("a host is disconnected") }, func(r *rig) { r.vcenter.SetIncomplete("") }, v1alpha1.ReasonInventoryIncomplete},
		"the group is paused":          {func(r *rig) { paused(r, "true") }, func(r *rig) { paused(r, "false") }, v1alpha1.ReasonPaused},
		"a VM is not seen":             {func(r *rig) { r.vcenter.Hide("web-1") }, func(r *rig) { r.vcenter.Show("web-1") }, v1alpha1.ReasonReleasing},
		"the hub stores no ConfigMaps": {func(r *rig) { r.refuse("create") }, func(r *rig) { r.refuse("") }, v1alpha1.ReasonReceiptFailed},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			uid := string(r.settle().UID)
			key := r.key()
			c.begin(r)
			r.annotate(v1alpha1.ReleaseAnnotation, uid)
			r.delete()
			r.vcenter.ClearJournal()
			if r.gone() || len(r.vcenter.Journal()) > 0 || r.receipt(key) != nil {
				t.Fatalf("it goes: %v", r.vcenter.Journal())
			}
			if ready := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionReady); ready.Reason != c.reason {
				t.Errorf("the condition is %+v", ready)
			}
			c.end(r)
			if !r.gone() || len(r.vcenter.VMs()) != 2 {
				t.Fatalf("%d VMs are left", len(r.vcenter.VMs()))
			}
			if receipt := r.receipt(key); receipt == nil || len(receipt.VMs) != 2 {
				t.Errorf("the receipt is %+v", receipt)
			}
		})
	}
}

// refuse makes the hub refuse requests about receipts.
func (r *rig) refuse(verb string) {
	r.Receipts.(*receipts.ConfigMaps).Client.(*receiptstest.ConfigMaps).Before = func(v string) error {
		if v == verb {
			return errors.New("etcdserver: mvcc: database space exceeded")
		}
		return nil
	}
}

func TestACloneUnderWayIsWaitedForAndKept(t *testing.T) {
	r := newRig(t)
	r.settle()
	key := r.key()
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	r.mustPass()
	if n := len(r.vcenter.Calls(vsphere.OpClone)); n != 3 {
		t.Fatalf("%d clones", n)
	}
	r.annotate(v1alpha1.ReleaseAnnotation, string(r.group().UID))
	r.delete()
	for range 3 {
		r.mustPass()
		r.now = r.now.Add(2 * time.Second)
	}
	if message := says(t, r.group(), v1alpha1.ConditionReady, "False", v1alpha1.ReasonReleasing); !strings.Contains(message, "being cloned: web-2") {
		t.Errorf("the condition says %q", message)
	}
	if !r.gone() || len(r.vcenter.VMs()) != 3 || len(r.receipt(key).VMs) != 3 {
		t.Errorf("%d VMs are left, the receipt is %+v", len(r.vcenter.VMs()), r.receipt(key))
	}
}

// The operator ends after it wrote the receipt, or a user removes the annotation in between.
func TestTheReceiptComesBeforeTheFinalizerGoes(t *testing.T) {
	r := newRig(t)
	uid := string(r.settle().UID)
	key := r.key()
	refused := errors.New("the member is unreachable")
	store := r.Receipts
	order := []string{}
	store.(*receipts.ConfigMaps).Client.(*receiptstest.ConfigMaps).Before = func(verb string) error {
		order = append(order, verb)
		return nil
	}
	r.Clusters = testCluster{client: refusingFinalizers{r.member, func() error {
		if r.receipt(key) == nil {
			t.Error("the finalizer is taken off before the receipt is written")
		}
		err := refused
		refused = nil
		return err
	}}}
	r.annotate(v1alpha1.ReleaseAnnotation, uid)
	r.delete()
	if _, err := r.pass(); err == nil || r.receipt(key) == nil || len(r.group().Finalizers) == 0 {
		t.Fatalf("%v, the receipt is %+v", err, r.receipt(key))
	}
	first := *r.receipt(key)
	r.now = r.now.Add(time.Hour)
	r.memory = memory{} // another replica continues
	if !r.gone() {
		t.Fatalf("the group stays: %s", words(r.group().Status.Conditions))
	}
	if again := r.receipt(key); !again.Time.Equal(first.Time) || len(again.VMs) != 2 || slices.Contains(order, "update") {
		t.Errorf("the receipt was %+v and is %+v: %v", first, again, order)
	}
}

func TestWhoTakesTheAnnotationBackIsHeard(t *testing.T) {
	r := newRig(t)
	uid := string(r.settle().UID)
	key := r.key()
	r.annotate(v1alpha1.ReleaseAnnotation, uid)
	r.delete()
	stale := r.group()
	r.annotate(v1alpha1.ReleaseAnnotation, "")
	r.Clusters = testCluster{client: cached{Client: r.member, group: stale}, live: r.member}
	r.mustPass()
	if r.receipt(key) != nil || len(r.group().Finalizers) == 0 {
		t.Errorf("the group was released after the annotation was removed: %+v", r.receipt(key))
	}
}

func TestKeptVMsStayChargedUntilTheyAreGone(t *testing.T) {
	r := newRig(t)
	store, ledger, rounds := r.underQuota(2)
	rounds(8)
	g := r.group()
	r.annotate(v1alpha1.ReleaseAnnotation, string(g.UID))
	r.delete()
	rounds(8)
	charged := func() int64 { return store.Entries()[localKey(g.UID)].Usage.VMs }
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) || charged() != 2 {
		t.Fatalf("the group: %v; %d VMs are charged", err, charged())
	}
	collect := func() int64 {
		for range 3 {
			r.now = r.now.Add(7 * time.Minute)
			ledger.Collect(t.Context())
			flush(t, ledger)
		}
		return charged()
	}
	if used := collect(); used != 2 {
		t.Errorf("two VMs are kept, and the ledger counts %d", used)
	}
	anew := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name, UID: "6d1b1c5e-0000-4000-8000-00000000000b", Generation: 1}, Spec: g.Spec}
	if err := r.member.Create(t.Context(), anew); err != nil {
		t.Fatal(err)
	}
	rounds(8)
	if n := len(r.vcenter.VMs()); n != 2 {
		t.Errorf("%d VMs exist under a quota of 2", n)
	}
	for _, vm := range r.vcenter.VMs() {
		r.vcenter.ByHand().Delete(vm.Ref.Value)
	}
	if used := collect(); used != 0 {
		t.Errorf("the VMs were deleted, and the ledger counts %d", used)
	}
}

func TestAHeldGroupIsReleasedAndCountsNoMore(t *testing.T) {
	h := newHerd(t, 20, 1)
	h.delete(h.names...)
	h.spend(20 * time.Second)
	message := h.held("app-00", v1alpha1.ReasonMassDeletion)
	for _, command := range []string{
		"kubectl annotate vmgroup app-00 -n shop vm.codeconnect.vmworld.com/confirm-deletion=uid-of-app-00 --overwrite",
		"kubectl annotate vmgroup app-00 -n shop --overwrite vm.codeconnect.vmworld.com/release=uid-of-app-00",
	} {
		if !strings.Contains(message, command) {
			t.Errorf("%q lacks %q", message, command)
		}
	}
	for _, name := range h.names[:10] {
		h.change(name, func(g *v1alpha1.VmGroup) {
			metav1.SetMetaDataAnnotation(&g.ObjectMeta, v1alpha1.ReleaseAnnotation, string(g.UID))
		})
	}
	h.change("app-10", func(g *v1alpha1.VmGroup) {
		metav1.SetMetaDataAnnotation(&g.ObjectMeta, v1alpha1.ReleaseAnnotation, "uid-of-app-00")
	})
	h.passes()
	h.takeover()
	h.spend(20 * time.Second)
	for _, name := range h.names[:10] {
		if h.look(name) != nil || h.receipt(vsphere.KeyOf("member-uid", "uid-of-"+name)) == nil {
			t.Errorf("%s is not released", name)
		}
	}
	h.untouched(20)
	if message := says(t, h.look("app-10"), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonReleaseHeld); !strings.Contains(message, "which is not the UID of this VmGroup") {
		t.Errorf("condition Stalled does not report that another UID has no effect: %q", message)
	}
	h.change("app-10", func(g *v1alpha1.VmGroup) { delete(g.Annotations, v1alpha1.ReleaseAnnotation) })
	h.spend(20 * time.Second)
	h.untouched(20)
	h.held("app-10", v1alpha1.ReasonMassDeletion)
	h.change("app-10", confirm("uid-of-app-10"))
	h.spend(20 * time.Second)
	h.left(19)
}

func TestAGroupWhoseCRDIsDeletedIsReleased(t *testing.T) {
	d := &definition{object: going(nil)}
	r := swept(t, d)
	if r.gone() {
		t.Fatal("it goes")
	}
	message := says(t, r.group(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonCRDTerminating)
	if !strings.Contains(message, "kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/release="+string(r.group().UID)) {
		t.Errorf("the condition says %q", message)
	}
	key := r.key()
	r.annotate(v1alpha1.ReleaseAnnotation, string(r.group().UID))
	if !r.gone() || len(r.vcenter.Journal()) > 0 || len(r.vcenter.VMs()) != 2 || r.receipt(key) == nil {
		t.Errorf("%v, %d VMs", r.vcenter.Journal(), len(r.vcenter.VMs()))
	}
}

// refusingFinalizers is an API server that can refuse a change of an object.
type refusingFinalizers struct {
	client.Client
	refuse func() error
}

func (c refusingFinalizers) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := c.refuse(); err != nil {
		return err
	}
	return c.Client.Patch(ctx, o, patch, opts...)
}

// A permanently unreachable vCenter, and its condition on the hub.
type grave struct {
	*rig
	key vsphere.GroupKey
}

func newGrave(t *testing.T) *grave {
	g := &grave{rig: newRig(t)}
	g.settle()
	g.key = g.rig.key()
	g.Clusters = testCluster{client: g.member, live: annotatedByKubectl{g.member, v1alpha1.ForgetAnnotation}}
	g.vcenter.Disconnect(nil)
	return g
}

func (g *grave) unreachableSince(at time.Time) {
	g.t.Helper()
	g.unreachable(g.hubVCenter(), at)
}

// unreachable sets the condition of a VCenter to unreachable.
func (g *grave) unreachable(vc *v1alpha1.VCenter, at time.Time) {
	g.t.Helper()
	vc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReachable, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnreachable, LastTransitionTime: metav1.NewTime(at)}}
	if err := g.hub.Update(g.t.Context(), vc); err != nil {
		g.t.Fatal(err)
	}
}

func (g *grave) hubVCenter() *v1alpha1.VCenter {
	g.t.Helper()
	vc := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := g.hub.Get(g.t.Context(), client.ObjectKeyFromObject(vc), vc); err != nil {
		g.t.Fatal(err)
	}
	return vc
}

func (g *grave) allow(until time.Time) {
	g.t.Helper()
	vc := g.hubVCenter()
	metav1.SetMetaDataAnnotation(&vc.ObjectMeta, v1alpha1.AllowForgetAnnotation, until.Format(time.RFC3339))
	if err := g.hub.Update(g.t.Context(), vc); err != nil {
		g.t.Fatal(err)
	}
}

// forgotten fails unless the group was removed, with a receipt, and vCenter got no request.
func (g *grave) forgotten() {
	g.t.Helper()
	g.vcenter.ClearJournal()
	if !g.gone() {
		g.t.Fatalf("the group stays: %s", words(g.group().Status.Conditions))
	}
	r := g.receipt(g.key)
	if r == nil || r.Cause != receipts.Forgotten || len(r.VMs) != 2 || r.VMs[0].MoRef == "" || r.VMs[0].UUID == "" || r.By != "kubectl-annotate" || r.Folder.MoRef == "" || len(g.vcenter.Journal()) > 0 {
		g.t.Errorf("the receipt is %+v; %v", r, g.vcenter.Journal())
	}
}

// stays runs passes and returns the group's message.
func (g *grave) stays(reason string) string {
	g.t.Helper()
	for range 5 {
		g.mustPass()
		g.now = g.now.Add(2 * time.Second)
	}
	if g.receipt(g.key) != nil {
		g.t.Fatalf("there is a receipt: %+v", g.receipt(g.key))
	}
	ready := meta.FindStatusCondition(g.group().Status.Conditions, v1alpha1.ConditionReady)
	if ready.Reason != reason {
		g.t.Fatalf("the condition is %+v, want reason %s", ready, reason)
	}
	return ready.Message
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

func TestAGroupOfAVCenterThatIsGoneIsForgottenOnTheWordOfAHubAdministrator(t *testing.T) {
	g := newGrave(t)
	since := g.now.Add(-23 * time.Hour)
	g.unreachableSince(since)
	g.delete()
	if message := g.stays(v1alpha1.ReasonVCenterUnreachable); strings.Contains(message, "forget") {
		t.Errorf("after 23 hours the group says %q", message)
	}
	uid := string(g.group().UID)
	g.annotate(v1alpha1.ForgetAnnotation, "another")
	g.allow(g.now.Add(30 * time.Minute))
	g.now = since.Add(group.ForgetAfter)
	contains(t, g.stays(v1alpha1.ReasonVCenterUnreachable), "kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/forget="+uid, "forget of the VmGroup is \"another\", which is not its UID")
	g.now = since.Add(group.ForgetAfter - time.Hour)
	g.annotate(v1alpha1.ForgetAnnotation, uid)
	contains(t, g.stays(v1alpha1.ReasonForgetHeld), "not forgotten before "+since.Add(group.ForgetAfter).Format(time.RFC3339))
	if after := g.mustPass().RequeueAfter; after > since.Add(group.ForgetAfter).Sub(g.now) {
		t.Errorf("the group is enqueued again after %s", after)
	}
	g.now = since.Add(group.ForgetAfter)
	word := allowance.Command("vcenter", "default", v1alpha1.AllowForgetAnnotation)
	contains(t, g.stays(v1alpha1.ReasonForgetHeld), word)
	g.allow(g.now.Add(2 * time.Hour))
	contains(t, g.stays(v1alpha1.ReasonForgetHeld), word, "more than an hour ahead")
	g.annotate(v1alpha1.PausedAnnotation, "true")
	g.allow(g.now.Add(30 * time.Minute))
	g.stays(v1alpha1.ReasonVCenterUnreachable)
	g.annotate(v1alpha1.PausedAnnotation, "false")
	g.ReceiptSums = receiptSums{effect.MaxReceipts, 0}
	g.equipped()
	contains(t, g.stays(v1alpha1.ReasonReceiptFailed), "the member has 10000 receipts")
	g.ReceiptSums = receiptSums{1, effect.MaxReceiptBytes - 100}
	g.equipped()
	contains(t, g.stays(v1alpha1.ReasonReceiptFailed), "or 64 MiB of them")
	g.ReceiptSums = receiptSums{effect.MaxReceipts - 1, effect.MaxReceiptBytes / 2}
	g.equipped()
	g.memory = memory{}
	g.forgotten()
	g.vcenter.Reconnect()
	if n := g.orphans(); n != 2 {
		t.Errorf("%d VMs that came back are orphans", n)
	}
}

func TestAGroupOfADeletedVCenterIsForgottenOnTheWordOnItsMemberCluster(t *testing.T) {
	g := newGrave(t)
	if err := g.hub.Delete(t.Context(), g.hubVCenter()); err != nil {
		t.Fatal(err)
	}
	g.delete()
	uid := string(g.group().UID)
	contains(t, g.stays(v1alpha1.ReasonVCenterNotFound), "kubectl annotate vmgroup web -n team --overwrite vm.codeconnect.vmworld.com/forget="+uid)
	g.annotate(v1alpha1.ForgetAnnotation, uid)
	contains(t, g.stays(v1alpha1.ReasonForgetHeld), "kubectl annotate membercluster local vm.codeconnect.vmworld.com/allow-forget-until=")
	g.memberIs(func(m *fleet.Member) { m.ForgetAllowed = g.now.Add(30 * time.Minute) })
	// Another VCenter is the same server, under another name.
	g.vcenter.Reconnect()
	g.Servers = fake.Servers{"other": g.vcenter}
	other := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	if err := g.hub.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	contains(t, g.stays(v1alpha1.ReasonForgetHeld), `VCenter "other" has VMs that carry its stamp`)
	if err := g.hub.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	g.forgotten()
}

func TestForgettingFreesQuota(t *testing.T) {
	r := newRig(t)
	store, _, rounds := r.underQuota(2)
	rounds(8)
	g := &grave{rig: r, key: r.key()}
	uid := r.group().UID
	r.vcenter.Disconnect(nil)
	g.unreachableSince(r.now.Add(-group.ForgetAfter))
	g.allow(r.now.Add(time.Hour))
	g.annotate(v1alpha1.ReleaseAnnotation, string(uid)) // for which its vCenter is needed
	g.annotate(v1alpha1.ForgetAnnotation, string(uid))
	g.delete()
	rounds(8)
	if e, ok := store.Entries()[localKey(uid)]; ok && e.Usage.VMs != 0 {
		t.Errorf("%d VMs of a group that was forgotten are charged", e.Usage.VMs)
	}
	if r := g.receipt(g.key); r == nil || r.Cause != receipts.Forgotten {
		t.Errorf("the receipt is %+v", r)
	}
}

// A vCenter that answers is used, whatever the hub's condition and its administrator claim.
func TestAGroupWhoseVCenterAnswersIsNotForgotten(t *testing.T) {
	g := newGrave(t)
	g.unreachableSince(g.now.Add(-48 * time.Hour))
	g.allow(g.now.Add(30 * time.Minute))
	g.annotate(v1alpha1.ForgetAnnotation, string(g.group().UID))
	g.vcenter.Reconnect()
	g.delete()
	contains(t, g.stays(v1alpha1.ReasonForgetHeld), "responds", "vm.codeconnect.vmworld.com/forget-", "vm.codeconnect.vmworld.com/release=")
	if len(g.vcenter.VMs()) != 2 || g.receipt(g.key) != nil {
		t.Errorf("%d VMs are left, the receipt is %+v", len(g.vcenter.VMs()), g.receipt(g.key))
	}
	g.unannotate(v1alpha1.ForgetAnnotation)
	if !g.gone() || len(g.vcenter.VMs()) > 0 || g.receipt(g.key) != nil {
		t.Errorf("without the annotation %d VMs are left, the receipt is %+v", len(g.vcenter.VMs()), g.receipt(g.key))
	}
}

func TestAReceiptIsSettledWhenNoVMIsLeftThatAnotherGroupCouldTake(t *testing.T) {
	stamp := func(edit func(*vsphere.VM)) func(*rig) {
		return func(r *rig) {
			for _, vm := range r.vcenter.VMs() {
				r.vcenter.ByHand().Edit(vm.Ref.Value, edit)
			}
		}
	}
	gone := func(r *rig) {
		for _, vm := range r.vcenter.VMs() {
			r.vcenter.ByHand().Delete(vm.Ref.Value)
		}
	}
	then := func(first, next func(*rig)) func(*rig) { return func(r *rig) { first(r); next(r) } }
	for story, c := range map[string]struct {
		change func(*rig)
		want   bool
	}{
		"the VMs are there":                   {func(*rig) {}, false},
		"one is there":                        {func(r *rig) { r.vcenter.ByHand().Delete("web-0") }, false},
		"they are deleted":                    {gone, true},
		"they are another group's":            {stamp(func(vm *vsphere.VM) { s := *vm.Stamp; s.Group = "new"; vm.Stamp = &s }), true},
		"they carry a release mark":           {stamp(func(vm *vsphere.VM) { vm.Released, vm.Stamp = &vsphere.ReleaseMark{GroupID: vm.Stamp.GroupID}, nil }), false},
		"their state is unknown":              {func(r *rig) { r.vcenter.DelayConfirmations(); gone(r) }, false},
		"they were moved away":                {func(r *rig) { r.vcenter.ByHand().MoveOut("web-0"); r.vcenter.ByHand().Delete("web-1") }, false},
		"the vCenter is unreachable":          {then(gone, func(r *rig) { r.vcenter.Disconnect(nil) }), false},
		"the inventory is incomplete":         {then(gone, func(r *rig) { r.vcenter.SetIncomplete("a host is disconnected") }), false},
		"another operator has no such server": {then(gone, func(r *rig) { r.Servers = fake.Servers{} }), false},
		"the VCenter is deleted": {then(gone, func(r *rig) {
			if err := r.hub.Delete(r.t.Context(), &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); err != nil {
				r.t.Fatal(err)
			}
		}), false},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			uid := string(r.settle().UID)
			key := r.key()
			r.annotate(v1alpha1.ReleaseAnnotation, uid)
			r.delete()
			if !r.gone() {
				t.Fatal("the group stays")
			}
			receipt := *r.receipt(key)
			c.change(r)
			r.ReceiptSettled(t.Context(), receipt) // reads the missing state
			if got := r.ReceiptSettled(t.Context(), receipt); got != c.want {
				t.Errorf("settled: %t", got)
			}
			receipt.InstanceUUID = "another vCenter"
			if r.ReceiptSettled(t.Context(), receipt) {
				t.Error("the receipt is settled by a vCenter with another instance UUID")
			}
		})
	}
}
