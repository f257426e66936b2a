package vmgroup

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/budget"
)

func namedGroup(uid string) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
}

// TestAnObjectThatTakesNoWriteGetsNoVM: a lying API server shows an object with the UID of one of its groups, and with the
// operator's next status. It refuses writes to that object.
func TestAnObjectThatTakesNoWriteGetsNoVM(t *testing.T) {
	for story, change := range map[string]func(*v1alpha1.VmGroupStatus){
		"nothing is left to write":         func(*v1alpha1.VmGroupStatus) {},
		"what is left to write can wait":   func(s *v1alpha1.VmGroupStatus) { s.LastMessage = "made up" },
		"what is left to write cannot":     func(s *v1alpha1.VmGroupStatus) { s.ObservedGeneration = 7 },
		"no intent is recorded":            func(s *v1alpha1.VmGroupStatus) { s.VMs = nil },
		"the folder is not recorded":       func(s *v1alpha1.VmGroupStatus) { s.Folder = nil },
		"neither is recorded, as if it is": func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} },
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.settle()
			twin := r.twin()
			if err := r.member.Get(t.Context(), client.ObjectKeyFromObject(twin), twin); err != nil {
				t.Fatal(err)
			}
			if change(&twin.Status); len(r.vcenter.VMs()) != 2 {
				t.Fatalf("the twin has VMs already: %+v", r.vcenter.VMs())
			}
			if err := r.member.Status().Update(t.Context(), twin); err != nil {
				t.Fatal(err)
			}
			r.memory.forget(objectOf("member-uid", twin))
			r.memory.change(r.object(), func(m *remembered) { m.reported, m.written = r.now, true })
			r.onStatus = func() error { return errors.New("the namespace may not contain '/'") }
			before, request := len(r.vcenter.Journal()), requestOf(v1alpha1.LocalMember, twin)
			for range 3 {
				if _, err := r.Reconcile(t.Context(), request); err == nil {
					t.Error("the pass did not fail")
				}
			}
			if calls := r.vcenter.Journal()[before:]; len(calls) > 0 {
				t.Errorf("vCenter was asked for %+v", calls)
			}
			r.onStatus = nil
			for range 3 {
				if _, err := r.Reconcile(t.Context(), request); err != nil {
					t.Fatal(err)
				}
			}
			if calls := r.vcenter.Journal()[before:]; len(calls) == 0 {
				t.Error("nothing is done once the object takes writes")
			}
		})
	}
}

// twin makes a group of another namespace with the UID of the rig's and two VMs more, up to the intent to clone these.
func (r *rig) twin() *v1alpha1.VmGroup {
	r.t.Helper()
	r.vcenter.SetLimits(budget.Limits{Tasks: 1})
	slots := r.vcenter.Acquire("another/u", "", 1)
	defer func() {
		slots.Release()
		r.vcenter.SetLimits(budget.Limits{Tasks: 8})
	}()
	is := r.group()
	twin := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "twins", Name: is.Name, UID: is.UID, Generation: 1, CreationTimestamp: metav1.NewTime(r.now)}, Spec: is.Spec,
	}
	twin.Spec.Replicas = new(int32(4))
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: twin.Namespace}}, twin} {
		if err := r.member.Create(r.t.Context(), o); err != nil {
			r.t.Fatal(err)
		}
	}
	for range 3 {
		r.memory.forget(objectOf("member-uid", twin))
		if _, err := r.Reconcile(r.t.Context(), requestOf(v1alpha1.LocalMember, twin)); err != nil {
			r.t.Fatal(err)
		}
	}
	return twin
}

// TestNothingIsRememberedOfObjectsThatShareAUID after they were deleted: a lying API server has endless names.
func TestNothingIsRememberedOfObjectsThatShareAUID(t *testing.T) {
	for story, end := range map[string]func(r *rig, requests []mcreconcile.Request){
		"deleted one after the other": func(r *rig, requests []mcreconcile.Request) {
			for _, request := range requests {
				r.forget(request)
			}
		},
		"deleted while their member was unreachable": func(r *rig, _ []mcreconcile.Request) { r.Fleet.KeepOnly(v1alpha1.LocalMember, nil) },
		"all but one deleted while their member was unreachable": func(r *rig, requests []mcreconcile.Request) {
			r.Fleet.KeepOnly(v1alpha1.LocalMember, map[fleet.Ref]vsphere.GroupKey{refOf(requests[1]): "member-uid/u"})
			r.delivered()
			if _, _, known := r.Fleet.GroupAt(refOf(requests[1])); len(r.memory.groups) != 1 || !known {
				r.t.Errorf("of the one that stays %v is remembered", r.memory.groups)
			}
			r.forget(requests[1])
		},
		"created anew": func(r *rig, requests []mcreconcile.Request) {
			for i, request := range requests {
				uid := fmt.Sprint("anew-", i)
				r.Fleet.SetGroup(refOf(request), vsphere.KeyOf("member-uid", uid), namedGroup(uid), "default")
			}
		},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			requests := make([]mcreconcile.Request, 0, 4)
			for i := range 4 {
				g := namedGroup("u")
				g.Namespace, g.Name = "team", fmt.Sprint("name-", i)
				requests = append(requests, requestOf(v1alpha1.LocalMember, g))
				r.Fleet.SetGroup(refOf(requests[i]), "member-uid/u", g, "default")
				r.memory.change(objectOf("member-uid", g), func(m *remembered) { m.written = true })
			}
			end(r, requests)
			if r.delivered(); len(r.memory.groups) > 0 {
				t.Errorf("remembered are %+v", r.memory.groups)
			}
		})
	}
}
