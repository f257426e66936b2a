package vmgroup

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// cloning runs passes until both clones of the group are requested.
func (r *rig) cloning() *v1alpha1.VmGroup {
	r.t.Helper()
	r.inform(r.Reconciler)
	for range 3 {
		r.mustPass()
	}
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 2 {
		r.t.Fatalf("%d clones were asked for", len(calls))
	}
	return r.group()
}

// vanish removes the group like an API server that ignores its finalizer, and notifies the reconciler.
func (r *rig) vanish(spoil func(*event.DeleteEvent)) {
	r.t.Helper()
	ctx, group := r.t.Context(), r.group()
	last := group.DeepCopy()
	group.Finalizers = nil
	if err := r.member.Update(ctx, group); err != nil {
		r.t.Fatal(err)
	}
	if err := r.member.Delete(ctx, group); err != nil {
		r.t.Fatal(err)
	}
	r.vanished.seen(keyOf("member-uid", last), last)
	last.ResourceVersion += "0" // a later one
	e := event.DeleteEvent{Object: last}
	if spoil != nil {
		spoil(&e)
	}
	cl, err := r.Clusters.GetCluster(ctx, v1alpha1.LocalMember)
	if err != nil {
		r.t.Fatal(err)
	}
	r.feed.Groups(v1alpha1.LocalMember, cl).Delete(ctx, e, nil)
}

func TestAPassThatSeesTheGroupGoneBeforeTheNewsArriveLosesNothing(t *testing.T) {
	r := newRig(t)
	r.cloning()
	r.vanish(func(*event.DeleteEvent) { r.mustPass() })
	told := ""
	r.Fleet.SubscribeGroups(sinkFunc(func(of fleet.Ref) { told = of.Name }))
	if r.Fleet.Gained([]int{0}); told == "" {
		t.Error("a replica that gets the bucket back does not look after the VMs")
	}
	r.finish()
	if vms := r.vcenter.VMs(); len(vms) != 0 {
		t.Errorf("survivors: %v", vms)
	}
}

// finish runs passes and lets vCenter's tasks end until the reconciler has nothing to do.
func (r *rig) finish() {
	r.t.Helper()
	for range 30 {
		again := r.mustPass().RequeueAfter
		r.vcenter.Finish(-1)
		if r.now = r.now.Add(2 * time.Second); again == 0 {
			return
		}
	}
	r.t.Error("the reconciler does not come to an end")
}

func TestAGroupRemovedWhileItsFinalizerWasWrittenTakesItsVMsAlong(t *testing.T) {
	r := newRig(t)
	r.cloning()
	r.vanish(nil)
	r.finish()
	if vms := r.vcenter.VMs(); len(vms) != 0 {
		t.Errorf("survivors: %v", vms)
	}
	if n := r.CountVCenter(t.Context(), "default", nil); n != 0 || len(r.vanished.groups)+len(r.memory.groups) != 0 {
		t.Errorf("something of it is remembered: %d groups, %+v, %+v", n, r.vanished, r.memory.groups)
	}
}

// orphans counts the VMs whose group certainly does not exist.
func (r *rig) orphans() (n int) {
	for _, vm := range r.vcenter.VMs() {
		if absent, _ := r.Fleet.Absent(vm.Stamp.Key()); absent {
			n++
		}
	}
	return n
}

func TestVMsOfAGroupThatVanishedOtherwiseAreLeftAlone(t *testing.T) {
	object := func(e *event.DeleteEvent) *v1alpha1.VmGroup { return e.Object.(*v1alpha1.VmGroup) }
	for story, c := range map[string]struct {
		before func(*rig)
		spoil  func(*event.DeleteEvent)
	}{
		"its storage was restored": {spoil: func(e *event.DeleteEvent) {
			object(e).ResourceVersion = strings.TrimSuffix(object(e).ResourceVersion, "0")
		}},
		"its finalizer was taken away and came back": {before: func(r *rig) {
			r.vanished = newVanished()
			r.vanished.Claiming(r.key(), r.group(), 0, r.now)
		}},
		"the original has a finalizer on it": {spoil: func(e *event.DeleteEvent) {
			controllerutil.AddFinalizer(object(e), v1alpha1.LegacyFinalizer)
		}},
		"its bucket is another replica's":       {before: func(r *rig) { r.gate.another = true }},
		"a user removed the finalizer":          {spoil: func(e *event.DeleteEvent) { object(e).Finalizers = nil }},
		"a user removed it during the deletion": {spoil: func(e *event.DeleteEvent) { object(e).DeletionTimestamp = new(metav1.Now()) }},
		"another replica wrote the finalizer":   {before: func(r *rig) { r.vanished = newVanished() }},
		"the finalizer is older than requests":  {before: func(r *rig) { r.now = r.now.Add(raceWindow + time.Second) }},
		"too many of its member have vanished": {before: func(r *rig) {
			r.vanished.groups["member-uid/another"] = vanishedGroup{key: "member-uid/another", size: mostVanished}
		}},
		"it is paused": {spoil: func(e *event.DeleteEvent) { object(e).Spec.Paused = true }},
		"it is paused in an incident": {spoil: func(e *event.DeleteEvent) {
			object(e).Annotations = map[string]string{v1alpha1.PausedAnnotation: "true"}
		}},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.cloning()
			r.vcenter.Finish(-1)
			if c.before != nil {
				c.before(r)
			}
			r.vanish(c.spoil)
			r.finish()
			r.memberIs(func(m *fleet.Member) { m.Silent = true })
			if vms := r.vcenter.VMs(); len(vms) != 2 || r.orphans() != 0 {
				t.Errorf("VMs: %v", vms)
			}
			r.memberIs(func(*fleet.Member) {})
			if n := r.orphans(); n != 2 {
				t.Errorf("%d orphans are reported, want 2", n)
			}
		})
	}
}

func TestVMsOfAGroupThatVanishedAreRetainedIfItSaidSo(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain })
	g := r.cloning()
	r.vanish(nil)
	r.finish()
	vms := r.vcenter.VMs()
	if len(vms) != 2 || vms[0].Stamp != nil || vms[1].Stamp != nil {
		t.Fatalf("VMs: %+v", vms)
	}
	for _, vm := range vms {
		if mark := vm.Released; mark == nil || mark.Namespace != g.Namespace || mark.Group != string(g.UID) {
			t.Errorf("%s carries the release mark %+v, want one of group %s in namespace %s", vm.Name, mark, g.UID, g.Namespace)
		}
	}
}

func TestAGroupThatHasTheNameOfOneThatVanishedIsAnotherOne(t *testing.T) {
	r := newRig(t)
	first := r.cloning()
	r.vanish(nil)
	second := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: first.Namespace, Name: first.Name, UID: types.UID("7d1b1c5e-0000-4000-8000-000000000002"), Generation: 1,
	}, Spec: first.Spec}
	if err := r.member.Create(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	r.inform(r.Reconciler)
	r.settle()
	r.work()
	vms := r.vcenter.VMs()
	if len(vms) != 2 || slices.ContainsFunc(vms, func(vm vsphere.VM) bool { return vm.Stamp.Group != string(second.UID) }) {
		t.Errorf("VMs: %+v", vms)
	}
	if n := r.CountVCenter(t.Context(), "default", nil); n != 1 {
		t.Errorf("%d groups are known, want the one that exists", n)
	}
}

func TestAGroupThatVanishedWaitsForVCenter(t *testing.T) {
	r := newRig(t)
	r.cloning()
	r.vcenter.Finish(-1)
	r.vcenter.Disconnect(&vsphere.Error{Kind: vsphere.KindTransient, Op: "connect"})
	r.vanish(nil)
	for range 20 {
		if again := r.mustPass().RequeueAfter; again == 0 || again > blindPatience {
			t.Fatalf("the group is enqueued again after %s", again)
		}
		r.now = r.now.Add(10 * time.Second)
	}
	r.vcenter.Reconnect()
	r.finish()
	if vms := r.vcenter.VMs(); len(vms) != 0 {
		t.Errorf("survivors: %v", vms)
	}
}

func TestAGroupThatVanishedGivesItsQuotaBackWhenItsVMsAreGone(t *testing.T) {
	r, store := newRig(t), &quotatest.Store{}
	r.setPolicy(quotaVMs(3))
	ledger := r.ledgerOf(r.Reconciler, store)
	flush(t, ledger)
	r.mustPass()
	flush(t, ledger)
	uid := r.cloning().UID
	r.vanish(nil)
	r.mustPass()
	flush(t, ledger)
	if e := store.Entries()[localKey(uid)]; e.Usage.VMs != 2 {
		t.Errorf("%d VMs are counted while 2 are there", e.Usage.VMs)
	}
	r.finish()
	flush(t, ledger)
	if e, ok := store.Entries()[localKey(uid)]; ok {
		t.Errorf("the ledger charges a deleted group for %+v", e.Usage)
	}
}

func TestAGroupThatVanishedIsLeftAloneFromThenOnWhen(t *testing.T) {
	for story, happens := range map[string]func(*rig){
		"its bucket is lost, and comes back": func(r *rig) {
			r.Fleet.Lost([]int{0})
		},
		"its bucket is lost, and is back before the news of that are": func(r *rig) {
			r.Fleet.Lost([]int{0})
			if _, err := r.Reconcile(r.t.Context(), r.request); err != nil {
				r.t.Fatal(err)
			}
		},
		"its member leaves, and comes back": func(r *rig) {
			r.memberIs(func(m *fleet.Member) { m.State = fleet.Away })
			r.mustPass()
			r.memberIs(func(*fleet.Member) {})
		},
		"it was tried for too long": func(r *rig) { r.now = r.now.Add(vanishedPatience + time.Second) },
		"a backup brings it back": func(r *rig) {
			group := r.vanished.of(r.request)[0].group.DeepCopy()
			group.DeletionTimestamp, group.ResourceVersion = nil, ""
			if err := r.member.Create(r.t.Context(), group); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.cloning()
			r.vcenter.Finish(-1)
			r.vanish(nil)
			if len(r.vanished.groups) != 1 {
				t.Fatal("it is not taken for one that vanished")
			}
			before := r.vcenter.VMs()
			happens(r)
			r.rounds(10)
			same := func(a, b vsphere.VM) bool { return a.Ref == b.Ref && !b.Tombstone }
			if vms := r.vcenter.VMs(); len(vms) != 2 || !slices.EqualFunc(before, vms, same) {
				t.Errorf("VMs: %+v", vms)
			}
			if len(r.vanished.groups) != 0 {
				t.Errorf("it is remembered: %+v", r.vanished.groups)
			}
			if n := r.CountVCenter(t.Context(), "default", nil); n != 0 && story != "a backup brings it back" {
				t.Errorf("%d groups are counted", n)
			}
		})
	}
}

func TestAGroupThatIsOldWhenItGetsItsFinalizerIsNoneThatVanishes(t *testing.T) {
	r := newRig(t)
	r.now = r.now.Add(raceWindow + time.Second)
	r.cloning()
	r.vanish(nil)
	if len(r.vanished.groups) != 0 {
		t.Error("it is taken for one")
	}
}

func TestAGroupThatVanishedKeepsItsVMsIfItsAnnotationSaysSo(t *testing.T) {
	r := newRig(t)
	g := r.cloning()
	r.vanish(func(e *event.DeleteEvent) {
		e.Object.SetAnnotations(map[string]string{v1alpha1.ReleaseAnnotation: string(g.UID)})
	})
	if len(r.vanished.groups) != 1 {
		t.Fatal("it is not taken for one that vanished")
	}
	r.finish()
	if vms := r.vcenter.VMs(); len(vms) != 2 || len(r.vcenter.Calls(vsphere.OpDestroy)) != 0 {
		t.Errorf("VMs: %+v", vms)
	}
}

// The API server of a member can make groups with megabytes of labels vanish, one after the other, whose VMs cannot be
// found.
func TestGroupsOfAMemberThatVanishNeedBoundedMemory(t *testing.T) {
	v, before := newVanished(), heap()
	vanishes := func(member string, n int, change func(*v1alpha1.VmGroup)) bool {
		g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: fmt.Sprint(n), UID: types.UID(fmt.Sprint(n)), ResourceVersion: "7", CreationTimestamp: metav1.NewTime(noon),
		}}
		key := keyOf(member, g)
		v.Claiming(key, g, 0, noon)
		if g.ResourceVersion = "8"; change != nil {
			change(g)
		}
		return v.add(requestOf(multicluster.ClusterName(member), g), fleet.Member{UID: member}, g, 0, noon)
	}
	labels := func(g *v1alpha1.VmGroup) {
		g.Labels = map[string]string{}
		for i := range 1000 {
			g.Labels[fmt.Sprint(i)] = strings.Repeat("x", 1000)
		}
	}
	for n := range 50 {
		if !vanishes("labels", n, labels) {
			t.Fatalf("group %d is left alone for its labels", n)
		}
	}
	for n := range 200 {
		vanishes("hostile", n, func(g *v1alpha1.VmGroup) { g.Status.Selector = strings.Repeat("x", 1<<20) })
	}
	if after := heap(); after > before+10<<20 {
		t.Errorf("250 groups keep %d MiB", (after-before)>>20)
	}
	if vanishes("hostile", 1000, func(g *v1alpha1.VmGroup) { g.Spec.Template = strings.Repeat("x", mostVanished) }) {
		t.Error("one that is too large is kept")
	}
	for n := range 500 {
		if !vanishes("honest", n, nil) {
			t.Fatalf("only %d groups of another member are kept", n)
		}
	}
	for n := range 200 {
		v.drop(vsphere.KeyOf("hostile", fmt.Sprint(n)))
	}
	if !vanishes("hostile", 2000, nil) {
		t.Error("a member for which all is done has no group more that is looked after")
	}
	runtime.KeepAlive(v)
}
