package vmgroup

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/feed"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// herd is a member with many old groups of one namespace, and a replica that manages them.
type herd struct {
	*rig
	names []string
	of    fleet.Member
}

func newHerd(t *testing.T, groups int, replicas int32) *herd {
	t.Helper()
	h := &herd{rig: newRig(t), of: localMember()}
	if err := h.member.Delete(t.Context(), h.group()); err != nil {
		t.Fatal(err)
	}
	if err := h.member.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "uid-of-shop"}}); err != nil {
		t.Fatal(err)
	}
	h.request.Namespace = "shop"
	for i := range groups {
		name := fmt.Sprintf("app-%02d", i)
		h.names = append(h.names, name)
		n := replicas
		if err := h.member.Create(t.Context(), &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(noon)},
			Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &n},
		}); err != nil {
			t.Fatal(err)
		}
	}
	h.hear()
	for range 5 {
		h.passes()
	}
	h.now = h.now.Add(2 * time.Hour)
	h.vcenter.ClearJournal()
	if vms := len(h.vcenter.VMs()); vms != groups*int(replicas) {
		t.Fatalf("%d VMs to begin with", vms)
	}
	return h
}

// hear does the work of the informers.
func (h *herd) hear() {
	h.t.Helper()
	h.Fleet.SetMember(h.of)
	h.inform(h.Reconciler)
	these := map[fleet.Ref]vsphere.GroupKey{}
	for _, name := range h.names {
		if g := h.look(name); g != nil {
			these[refOf(requestOf(v1alpha1.LocalMember, g))] = keyOf("member-uid", g)
		}
	}
	h.Fleet.KeepOnly(v1alpha1.LocalMember, these)
}

// look returns a group, or nil if it was deleted.
func (h *herd) look(name string) *v1alpha1.VmGroup {
	h.t.Helper()
	h.request.Name = name
	g := &v1alpha1.VmGroup{}
	err := h.member.Get(h.t.Context(), h.request.NamespacedName, g)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return g
}

// passes handles all events and runs one pass over each group, and vCenter's tasks end.
func (h *herd) passes() {
	h.t.Helper()
	h.hear()
	for _, name := range h.names {
		if h.look(name) != nil { // a deleted group triggers no pass
			h.mustPass()
		}
	}
	h.vcenter.Finish(-1)
}

// spend lets time pass, with passes every two seconds.
func (h *herd) spend(d time.Duration) {
	h.t.Helper()
	for end := h.now.Add(d); h.now.Before(end); h.now = h.now.Add(2 * time.Second) {
		h.passes()
	}
	h.passes()
}

// takeover continues with another replica that has just started: it has only the member's caches.
func (h *herd) takeover() {
	h.t.Helper()
	another := &Reconciler{
		Observer: h.like(), Definitions: h.Definitions, Shards: h.Shards, Records: h.records, Receipts: h.Receipts, HubWrites: h.HubWrites,
		vanished: newVanished(),
	}
	queued(h.t, another)
	h.Reconciler = another
	h.serve()
	h.equipped()
	h.hear()
}

func (h *herd) delete(names ...string) {
	h.t.Helper()
	for _, name := range names {
		if err := h.member.Delete(h.t.Context(), h.look(name)); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *herd) change(name string, change func(*v1alpha1.VmGroup)) {
	h.t.Helper()
	g := h.look(name)
	change(g)
	if err := h.member.Update(h.t.Context(), g); err != nil {
		h.t.Fatal(err)
	}
}

func (h *herd) scale(replicas int32, names ...string) {
	h.t.Helper()
	for _, name := range names {
		h.change(name, func(g *v1alpha1.VmGroup) { g.Spec.Replicas, g.Generation = &replicas, g.Generation+1 })
	}
}

func confirm(uid string) func(*v1alpha1.VmGroup) {
	return func(g *v1alpha1.VmGroup) {
		metav1.SetMetaDataAnnotation(&g.ObjectMeta, v1alpha1.ConfirmDeletionAnnotation, uid)
	}
}

// confirmNamespace annotates the namespace, and the informers report it.
func (h *herd) confirmNamespace(uid string) {
	h.t.Helper()
	namespace := &corev1.Namespace{}
	if err := h.member.Get(h.t.Context(), types.NamespacedName{Name: "shop"}, namespace); err != nil {
		h.t.Fatal(err)
	}
	before := &metav1.PartialObjectMetadata{ObjectMeta: *namespace.ObjectMeta.DeepCopy()}
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, v1alpha1.ConfirmDeletionAnnotation, uid)
	if err := h.member.Update(h.t.Context(), namespace); err != nil {
		h.t.Fatal(err)
	}
	e := event.UpdateEvent{ObjectOld: before, ObjectNew: &metav1.PartialObjectMetadata{ObjectMeta: namespace.ObjectMeta}}
	if !feed.NamespaceChanged().Update(e) {
		h.t.Fatal("the event filter drops the confirmation")
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[mcreconcile.Request]())
	defer queue.ShutDown()
	h.feed.Namespaces(v1alpha1.LocalMember, nil).Update(h.t.Context(), e, queue)
	h.feed.Round()
}

// untouched fails if a VM was powered off, marked or destroyed.
func (h *herd) untouched(vms int) {
	h.t.Helper()
	for _, op := range []vsphere.OperationKind{vsphere.OpMark, vsphere.OpPowerOff, vsphere.OpShutdownGuest, vsphere.OpDestroy} {
		if calls := h.vcenter.Calls(op); len(calls) > 0 {
			h.t.Errorf("a VM that is held is touched: %v", calls[0])
		}
	}
	h.left(vms)
}

func (h *herd) left(vms int) {
	h.t.Helper()
	if n := len(h.vcenter.VMs()); n != vms {
		h.t.Errorf("%d VMs are left, want %d", n, vms)
	}
}

func (h *herd) held(name, reason string) string {
	h.t.Helper()
	g := h.look(name)
	if massdeletion.Of(g).RemovesAll() {
		says(h.t, g, v1alpha1.ConditionRemoving, metav1.ConditionTrue, reason)
	}
	return says(h.t, g, v1alpha1.ConditionReady, metav1.ConditionFalse, reason)
}

func TestOneOldGroupThatIsDeletedWaitsTenSecondsAndGoes(t *testing.T) {
	for name, remove := range map[string]func(*herd){
		"deleted":        func(h *herd) { h.delete("app-00") },
		"scaled to zero": func(h *herd) { h.scale(0, "app-00") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHerd(t, 3, 20)
			h.now = h.now.Add(300 * time.Millisecond)
			remove(h)
			h.hear()
			h.request.Name = "app-00"
			if again := h.mustPass().RequeueAfter; again < 10*time.Second || again > 11*time.Second {
				t.Errorf("the group is enqueued again after %s", again)
			}
			message := h.held("app-00", v1alpha1.ReasonDeletionPending)
			if !strings.Contains(message, "until 14:00:") {
				t.Errorf("it does not say until when: %s", message)
			}
			h.now = h.now.Add(9900 * time.Millisecond)
			h.takeover()
			h.passes()
			h.untouched(60)
			if again := h.held("app-00", v1alpha1.ReasonDeletionPending); again != message {
				t.Errorf("the hold starts anew after a takeover: %s, and before: %s", again, message)
			}
			h.now = h.now.Add(time.Second)
			h.spend(14 * time.Second)
			h.left(40)
			if g := h.look("app-00"); g != nil && meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionRemoving) != nil {
				t.Errorf("nothing is held any more: %s", words(g.Status.Conditions))
			}
			h.now = h.now.Add(11 * time.Minute)
			h.delete("app-01") // which is alone again
			h.spend(20 * time.Second)
			h.left(20)
		})
	}
}

func TestAShrinkByItselfDoesNotWait(t *testing.T) {
	h := newHerd(t, 3, 20)
	h.scale(1, "app-00")
	h.spend(8 * time.Second)
	h.left(41)
}

func TestYoungGroupsNeitherWaitNorCount(t *testing.T) {
	h := newHerd(t, 11, 1)
	h.now = h.now.Add(-90 * time.Minute)
	h.delete(h.names...)
	h.spend(8 * time.Second)
	h.left(0)
}

func TestANamespaceThatIsDeletedKeepsItsVMsUntilSomebodyConfirms(t *testing.T) {
	h := newHerd(t, 11, 1)
	h.delete(h.names...)
	h.spend(4 * time.Second)
	h.held("app-00", v1alpha1.ReasonDeletionPending)
	h.takeover()
	h.spend(14 * time.Second)
	h.untouched(11)
	for _, name := range h.names {
		h.held(name, v1alpha1.ReasonMassDeletion)
	}
	message := says(t, h.look("app-03"), v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonMassDeletion)
	for _, want := range []string{
		`member cluster "local"`, "20% of the VMs, or 10 if that is more",
		"kubectl annotate vmgroup app-03 -n shop vm.codeconnect.vmworld.com/confirm-deletion=uid-of-app-03 --overwrite",
		"kubectl annotate namespace shop vm.codeconnect.vmworld.com/confirm-deletion=uid-of-shop --overwrite",
		"kubectl annotate membercluster local vm.codeconnect.vmworld.com/allow-mass-deletion-until=",
	} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	if held := h.Fleet.Tally(v1alpha1.LocalMember).Held; held != (massdeletion.Held{Groups: 11, VMs: 11}) {
		t.Errorf("counted as held are %+v", held)
	}

	h.change("app-00", confirm("uid-of-app-01"))
	h.confirmNamespace("uid-of-another")
	h.spend(4 * time.Second)
	h.untouched(11)
	message = h.held("app-00", v1alpha1.ReasonMassDeletion)
	for _, want := range []string{`of the VmGroup is "uid-of-app-01"`, `of its namespace is "uid-of-another"`, "the UID of another object and confirms nothing"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}

	// With six of them deleted, and after the window, the rest would be too few to be held. They are still held.
	for _, name := range h.names[:6] {
		h.change(name, confirm("uid-of-"+name))
	}
	h.spend(14 * time.Second)
	h.left(5)
	h.now = h.now.Add(time.Hour)
	h.takeover()
	h.of.Paused = true
	h.passes()
	h.of.Paused = false
	h.vcenter.SetIncomplete("a listing is under way")
	h.passes()
	h.now = h.now.Add(time.Minute)
	h.passes()
	h.vcenter.SetIncomplete("")
	h.spend(14 * time.Second)
	h.left(5)
	h.held("app-07", v1alpha1.ReasonMassDeletion)

	h.confirmNamespace("uid-of-shop")
	h.spend(10 * time.Second)
	h.left(0)
	for _, name := range h.names {
		if g := h.look(name); g != nil {
			t.Errorf("%s is still there: %s", name, words(g.Status.Conditions))
		}
	}
}

func TestWhatANamespaceConfirmsDoesNotCountAgainstOthers(t *testing.T) {
	h := newHerd(t, 11, 1)
	h.delete(h.names...)
	h.hear()
	another := massdeletion.Group{Created: noon, Existing: 1}
	trips := func() bool {
		return h.Fleet.Trips(v1alpha1.LocalMember, vsphere.KeyOf("member-uid", "another"), another, massdeletion.Limit{})
	}
	if !trips() {
		t.Error("eleven groups that are deleted do not count")
	}
	if h.confirmNamespace("uid-of-shop"); trips() {
		t.Error("what is confirmed counts")
	}
	if h.hear(); trips() {
		t.Error("what is confirmed counts after news of a group")
	}
	if h.confirmNamespace("uid-of-another"); !trips() {
		t.Error("a confirmation that was taken back counts")
	}
}

func TestGroupsThatAreAllScaledToZeroAreHeldUntilTheyAreSetBack(t *testing.T) {
	h := newHerd(t, 6, 3)
	h.scale(0, h.names...)
	h.spend(14 * time.Second)
	h.untouched(18)
	message := h.held("app-02", v1alpha1.ReasonMassDeletion)
	if !strings.Contains(message, "kubectl scale vmgroup app-02 -n shop --replicas=3") {
		t.Errorf("the message lacks the command that reverts the change: %s", message)
	}
	h.scale(3, h.names...)
	h.spend(4 * time.Second)
	h.untouched(18)
	g := h.look("app-02")
	says(t, g, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAllVMsReady)
	if meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionRemoving) != nil {
		t.Errorf("nothing is held any more: %s", words(g.Status.Conditions))
	}
}

func TestShrinksAreHeldBesideDeletionsAndGoOnByThemselves(t *testing.T) {
	h := newHerd(t, 8, 3)
	h.delete(h.names[:4]...)
	h.hear()
	h.scale(2, "app-07")
	h.spend(14 * time.Second)
	h.untouched(24)
	h.held("app-07", v1alpha1.ReasonMassDeletion)
	for _, name := range h.names[:4] {
		h.change(name, confirm("uid-of-"+name))
	}
	h.spend(40 * time.Second)
	h.left(11)
}

// Two are below the threshold, and are deleted. Other deletions meanwhile are seen before that.
func TestADripOfDeletionsIsHeldOnceItIsTooMuch(t *testing.T) {
	h := newHerd(t, 20, 1)
	for _, name := range h.names {
		h.delete(name)
		h.spend(4 * time.Second)
	}
	h.spend(14 * time.Second)
	if left := len(h.vcenter.VMs()); left < 10 || left > 13 {
		t.Errorf("%d VMs of 20 are left", left)
	}
	left := len(h.vcenter.VMs())
	h.now = h.now.Add(time.Hour)
	h.spend(14 * time.Second)
	h.left(left)
}

func TestAMemberLetsPassWhatItsHubSays(t *testing.T) {
	off := intstr.FromString("100%")
	for name, allow := range map[string]func(h *herd){
		"for half an hour": func(h *herd) { h.of.AllowedUntil = h.now.Add(30 * time.Minute) },
		"with no limit":    func(h *herd) { h.of.MassDeletion = massdeletion.LimitOf(&off) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHerd(t, 11, 1)
			h.delete(h.names...)
			h.spend(12 * time.Second)
			for _, until := range []time.Duration{-time.Second, 2 * time.Hour} {
				h.of.AllowedUntil = h.now.Add(until)
				h.passes()
			}
			h.untouched(11)
			allow(h)
			h.spend(8 * time.Second)
			h.left(0)
		})
	}
}

func TestADeletionThatIsUnderWayStopsWhenItBecomesTooMuch(t *testing.T) {
	h := newHerd(t, 2, 12)
	h.delete("app-00")
	h.spend(10 * time.Second)
	h.passes() // the first are powered off
	h.delete("app-01")
	h.spend(20 * time.Second)
	left := len(h.vcenter.VMs())
	if left < 12 {
		t.Errorf("%d VMs are left", left)
	}
	h.held("app-01", v1alpha1.ReasonMassDeletion)
}

func TestAHeldGroupCostsNeitherACallNorAWrite(t *testing.T) {
	h := newHerd(t, 11, 1)
	h.delete(h.names...)
	h.spend(14 * time.Second)
	h.vcenter.ClearJournal()
	before := h.look("app-04").ResourceVersion
	h.spend(time.Minute)
	if journal := h.vcenter.Journal(); len(journal) > 0 || h.look("app-04").ResourceVersion != before {
		t.Errorf("vCenter was asked %v; the group's version is %s, and was %s", journal, h.look("app-04").ResourceVersion, before)
	}
}

func TestATimeOfAWaitThatIsMadeUpIsNotBelieved(t *testing.T) {
	h := newHerd(t, 3, 1)
	h.delete("app-00")
	h.passes()
	g := h.look("app-00")
	meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionRemoving).LastTransitionTime = metav1.NewTime(h.now.AddDate(1, 0, 0))
	if err := h.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	h.spend(20 * time.Second)
	h.left(2)
}

// changedBy reads groups as a member's cache has them: one user changed their spec last, and another scaled them.
type changedBy struct {
	client.Client
	spec, replicas string
}

func (c changedBy) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := c.Client.Get(ctx, key, object, options...)
	if _, is := object.(*v1alpha1.VmGroup); is {
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: c.spec}, {Manager: c.replicas}})
	}
	return err
}

// The user who deletes a VmGroup is not known here, and the user who scales it not always. The report names where to
// find out.
func TestEachDestroyedVMIsToldOnce(t *testing.T) {
	for scaledBy, told := range map[string]string{
		"kube-controller-manager": `"fieldManager"="kube-controller-manager"`,
		"":                        `"fieldManager"="" "user"="the audit log of the member's API server names who changed or scaled the VmGroup"`,
	} {
		t.Run("scaled by "+scaledBy, func(t *testing.T) { eachDestroyedVMIsToldOnce(t, scaledBy, told) })
	}
}

func eachDestroyedVMIsToldOnce(t *testing.T, scaledBy, told string) {
	t.Helper()
	h := newHerd(t, 2, 2)
	var lines []string
	all := funcr.New(func(_, args string) {
		if strings.Contains(args, `"A VM is destroyed"`) {
			lines = append(lines, args)
		}
	}, funcr.Options{})
	h.Clusters = testCluster{client: changedBy{h.member, "argocd-controller", scaledBy}}
	count := func(reason string) float64 { return h.destroyed(v1alpha1.LocalMember, reason) }
	deletions, shrinks := count("deletion"), count("scale-down")
	h.scale(1, "app-00")
	h.delete("app-01")
	h.vcenter.FailTask(vsphere.OpDestroy, 1, &vsphere.Error{Kind: vsphere.KindTransient, Op: "destroy"})
	for range 20 {
		h.hear()
		for _, name := range h.names {
			h.request.Name = name
			if _, err := h.Reconcile(log.IntoContext(t.Context(), h.logger(all)(&h.request)), h.request); err != nil {
				t.Fatal(err)
			}
		}
		h.vcenter.Finish(-1)
		h.now = h.now.Add(2 * time.Second)
	}
	h.left(1)
	if len(lines) != 3 || count("deletion") != deletions+2 || count("scale-down") != shrinks+1 {
		t.Fatalf("%d lines, %v deletions, %v shrinks: %q", len(lines), count("deletion")-deletions, count("scale-down")-shrinks, lines)
	}
	for _, line := range lines {
		wants := []string{`"member"="local"`, `"vcenter"="default"`, `"moRef"="vm-`, `"groupUID"="uid-of-app-0`, `"vm"="app-0`}
		if strings.Contains(line, "uid-of-app-00") {
			wants = append(wants, `"cause"="scale-down"`, told)
		} else {
			wants = append(wants, `"cause"="deletion"`, `"fieldManager"="argocd-controller"`, `"deletionTimestamp"=`, "audit log")
		}
		for _, want := range wants {
			if !strings.Contains(line, want) {
				t.Errorf("%s is not in %s", want, line)
			}
		}
	}
}

// destroyed is the value of the metric for a member and a reason.
func (r *rig) destroyed(member, reason string) float64 {
	r.t.Helper()
	return r.count("vmgroup_vms_destroyed_total", map[string]string{"member": member, "reason": reason})
}

// A group that its API server removed in spite of its finalizer counts as deleted as long as the operator manages
// it.
func TestAGroupThatVanishedCountsAsDeleted(t *testing.T) {
	h := newHerd(t, 11, 1)
	for _, name := range h.names[:10] {
		g := h.look(name)
		h.Fleet.KeepVanished(refOf(h.request), keyOf("member-uid", g), g, "default")
	}
	g := h.look("app-10")
	own := massdeletion.Of(g)
	own.Wanted = 0
	if !h.Fleet.Trips(v1alpha1.LocalMember, keyOf("member-uid", g), own, massdeletion.Limit{}) {
		t.Error("groups that have vanished do not count")
	}
}

func TestALostMemberTakesItsCountsAlong(t *testing.T) {
	h := newHerd(t, 11, 1)
	h.delete(h.names...)
	h.spend(14 * time.Second)
	h.Fleet.DeleteMember(v1alpha1.LocalMember)
	if held := h.Fleet.Tally(v1alpha1.LocalMember).Held; held != (massdeletion.Held{}) {
		t.Errorf("%+v are left", held)
	}
}
