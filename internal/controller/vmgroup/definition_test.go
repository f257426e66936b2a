package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// definition is a member's CRD, and the number of its reads.
type definition struct {
	object metav1.Object
	err    error
	looks  int
}

func (d *definition) answers(r *rig) {
	r.Definitions = definitionFunc(func() (metav1.Object, error) {
		d.looks++
		return d.object, d.err
	})
	r.equipped()
}

// definitionFunc answers for every member.
type definitionFunc func() (metav1.Object, error)

func (d definitionFunc) Definition(context.Context, string) (metav1.Object, error) { return d() }

// swept is a ready group that the API server deletes.
func swept(t *testing.T, d *definition) *rig {
	t.Helper()
	r := newRig(t)
	d.answers(r)
	r.settle()
	if d.looks > 0 {
		t.Errorf("the CRD was read %d times for a group that is not deleted", d.looks)
	}
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.vcenter.ClearJournal()
	return r
}

// gone reports whether the group is removed within a few passes.
func (r *rig) gone() bool {
	for range 10 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
		if err := r.member.Get(r.t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); apierrors.IsNotFound(err) {
			return true
		}
	}
	return false
}

func going(annotations map[string]string) metav1.Object {
	return &metav1.ObjectMeta{Name: "vmgroups.example", UID: "crd-uid", DeletionTimestamp: &metav1.Time{Time: noon}, Annotations: annotations}
}

func TestAGroupThatGoesWithItsCRDKeepsItsVMsUntilThatIsConfirmed(t *testing.T) {
	confirmed := map[string]string{v1alpha1.ConfirmDeletionAnnotation: "crd-uid"}
	for story, confirm := range map[string]func(*rig, *definition){
		"on the CRD": func(_ *rig, d *definition) { d.object = going(confirmed) },
		"on the group": func(r *rig, _ *definition) {
			g := r.group()
			g.Annotations = map[string]string{v1alpha1.ConfirmDeletionAnnotation: string(g.UID)}
			if err := r.member.Update(r.t.Context(), g); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(story, func(t *testing.T) {
			d := &definition{object: going(nil)}
			r := swept(t, d)
			if r.gone() || len(r.vcenter.Journal()) > 0 {
				t.Fatalf("it goes: %v", r.vcenter.Journal())
			}
			if c := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled); c == nil || c.Reason != v1alpha1.ReasonCRDTerminating {
				t.Errorf("condition Stalled is %+v", c)
			}
			if d.looks != 2 { // 20 s
				t.Errorf("the CRD was read %d times, want 2", d.looks)
			}
			// Another replica does not have that state, and detects it.
			r.memory = memory{}
			if r.gone() || len(r.vcenter.Journal()) > 0 {
				t.Fatalf("it goes after a takeover: %v", r.vcenter.Journal())
			}
			confirm(r, d)
			if !r.gone() {
				t.Errorf("it stays after the confirmation: %v", words(r.group().Status.Conditions))
			}
		})
	}
}

// installed is a CRD that was created this long after the deletion of the group, or before it.
func (r *rig) installed(after time.Duration) metav1.Object {
	return &metav1.ObjectMeta{Name: "vmgroups.example", UID: types.UID("created " + after.String()), CreationTimestamp: metav1.NewTime(r.group().DeletionTimestamp.Add(after))}
}

// restarts continues with another replica, which has no state.
func (r *rig) restarts() { r.memory = memory{} }

// wiped erases the status.
func (r *rig) wiped() {
	r.t.Helper()
	g := r.group()
	g.Status = v1alpha1.VmGroupStatus{}
	if err := r.member.Status().Update(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
}

// held checks that nothing happens for longer than any timeout.
func (r *rig) held() {
	r.t.Helper()
	r.now = r.now.Add(group.DefinitionInterval)
	if r.gone() || len(r.vcenter.Journal()) > 0 {
		r.t.Fatalf("it goes: %v", r.vcenter.Journal())
	}
	says(r.t, r.group(), v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonCRDTerminating)
}

// TestAGroupThatWasDeletedWithItsCRDIsHeldWhenTheCRDIsBack: no user confirmed the deletion. The operator, another tool, or a
// backup restores the CRD.
func TestAGroupThatWasDeletedWithItsCRDIsHeldWhenTheCRDIsBack(t *testing.T) {
	for story, back := range map[string]func(*rig, *definition){
		"the finalizer of the CRD was removed, and it is installed again": func(r *rig, d *definition) {
			d.object = nil
			r.held()
			d.object = r.installed(time.Minute)
		},
		"another tool applied it within the second": func(r *rig, d *definition) { d.object = r.installed(0) },
		"a backup brought it back as it was":        func(r *rig, d *definition) { d.object = r.installed(-time.Hour) },
		"the group is first seen when the CRD is back": func(r *rig, d *definition) {
			r.wiped()
			d.object = r.installed(time.Minute)
		},
		"its status was wiped": func(r *rig, d *definition) {
			d.object = r.installed(time.Minute)
			r.held()
			r.wiped()
		},
		"status came from a backup of before": func(r *rig, d *definition) {
			g := r.group()
			g.Status.Conditions = nil
			if err := r.member.Status().Update(r.t.Context(), g); err != nil {
				r.t.Fatal(err)
			}
			d.object = r.installed(time.Minute)
		},
		"the member left and joined again": func(r *rig, d *definition) {
			r.memberIs(func(m *fleet.Member) { m.State = fleet.Away })
			r.mustPass()
			r.Fleet.DeleteMember(v1alpha1.LocalMember)
			r.memberIs(func(*fleet.Member) {})
			r.inform(r.Reconciler)
			d.object = r.installed(time.Minute)
		},
		"it cannot be read any more": func(_ *rig, d *definition) {
			d.err = apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, "vmgroups", nil)
		},
	} {
		for _, restarts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, all replicas restart: %t", story, restarts), func(t *testing.T) {
				d := &definition{object: going(nil)}
				r := swept(t, d)
				r.held()
				back(r, d)
				if restarts {
					r.restarts()
				}
				r.held()
				d.object, d.err = r.installed(time.Minute), nil
				r.annotate(v1alpha1.ConfirmDeletionAnnotation, string(r.group().UID))
				if !r.gone() || len(r.vcenter.VMs()) > 0 {
					t.Errorf("it stays after the confirmation: %v", words(r.group().Status.Conditions))
				}
			})
		}
	}
}

func TestAGroupWhoseCRDCannotBeReadKeepsItsVMs(t *testing.T) {
	d := &definition{err: errors.New("connection refused")}
	r := swept(t, d)
	if r.gone() || len(r.vcenter.Journal()) > 0 {
		t.Fatalf("it goes: %v", r.vcenter.Journal())
	}
	d.object, d.err = r.installed(-time.Hour), nil
	if !r.gone() {
		t.Errorf("it stays though its CRD was never deleted: %v", words(r.group().Status.Conditions))
	}
}

// TestADeletionWhileTheCRDStaysIsNotHeldUp: the CRD is read when the deletion is seen, and then every ten seconds, for all groups of the member together.
func TestADeletionWhileTheCRDStaysIsNotHeldUp(t *testing.T) {
	for story, err := range map[string]error{
		"it stays":              nil,
		"the read is forbidden": apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, "vmgroups", nil),
	} {
		t.Run(story, func(t *testing.T) {
			d := &definition{err: err}
			r := swept(t, d)
			if d.err == nil {
				d.object = r.installed(-time.Hour)
			}
			before := r.now
			if !r.gone() {
				t.Errorf("it stays: %v", words(r.group().Status.Conditions))
			}
			if most := 1 + int(r.now.Sub(before)/group.DefinitionInterval); d.looks < 1 || d.looks > most {
				t.Errorf("the CRD was read %d times, at most %d are needed", d.looks, most)
			}
		})
	}
}

// The CRD was missing a moment ago. That was not the reason of a later deletion.
func TestAGroupThatIsDeletedSoonAfterTheCRDIsBackIsNotHeld(t *testing.T) {
	h := newHerd(t, 2, 1)
	crd := metav1.Object(nil)
	h.Definitions = definitionFunc(func() (metav1.Object, error) { return crd, nil })
	h.equipped()
	h.delete("app-00")
	h.passes()
	h.held("app-00", v1alpha1.ReasonCRDTerminating)
	h.now = h.now.Add(time.Second)
	crd = &metav1.ObjectMeta{Name: "vmgroups.example", UID: "crd-uid", CreationTimestamp: metav1.NewTime(h.look("app-00").DeletionTimestamp.Add(-time.Hour))}
	h.delete("app-01")
	h.spend(20 * time.Second)
	if h.look("app-01") != nil {
		t.Errorf("it is held: %s", words(h.look("app-01").Status.Conditions))
	}
	h.held("app-00", v1alpha1.ReasonCRDTerminating)
}

// An idle group costs no call, and many held groups cost only one for all of them.
func TestGroupsThatAreHeldShareOneLookAtTheirCRD(t *testing.T) {
	h := newHerd(t, 11, 1)
	looks := 0
	crd := &metav1.ObjectMeta{Name: "vmgroups.example", UID: "crd-uid", DeletionTimestamp: &metav1.Time{Time: noon}}
	h.Definitions = definitionFunc(func() (metav1.Object, error) { looks++; return crd, nil })
	h.equipped()
	h.spend(time.Minute)
	if looks > 0 {
		t.Errorf("the CRD of groups that are not deleted was read %d times", looks)
	}
	h.delete(h.names...)
	h.spend(4 * time.Second)
	crd.DeletionTimestamp = nil
	crd.CreationTimestamp = metav1.NewTime(time.Now().Add(time.Hour)) // by the clock of the member, which also sets their time of deletion
	h.spend(20 * time.Second)
	looks = 0
	h.vcenter.ClearJournal()
	h.spend(time.Minute)
	if looks < 1 || looks > 8 {
		t.Errorf("the CRD was read %d times in a minute", looks)
	}
	h.untouched(11)
	if held := h.Fleet.Tally(v1alpha1.LocalMember).Held; held != (massdeletion.Held{SweptGroups: 11, SweptVMs: 11}) {
		t.Errorf("counted as held are %+v", held)
	}
	h.of.AllowedUntil = h.now.Add(30 * time.Minute)
	h.spend(10 * time.Second)
	h.left(0)
}
