package vmgroup

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// definition is a member's CRD, and how often it was looked at.
type definition struct {
	object metav1.Object
	err    error
	looks  int
}

func (d *definition) answers(r *rig) {
	r.Members = func(string) (Member, bool) {
		return Member{Name: v1alpha1.LocalMember, UID: "member-uid", Definition: func(context.Context) (metav1.Object, error) {
			d.looks++
			return d.object, d.err
		}}, true
	}
}

// swept is a ready group that the API server deletes.
func swept(t *testing.T, d *definition) *rig {
	t.Helper()
	r := newRig(t)
	d.answers(r)
	r.settle()
	if d.looks > 0 {
		t.Errorf("the CRD of a group that nobody deletes was looked at %d times", d.looks)
	}
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.vcenter.ClearJournal()
	return r
}

// gone reports whether the group goes, within a few passes.
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
				t.Errorf("nothing tells of it: %+v", c)
			}
			if d.looks != 2 { // 20 s
				t.Errorf("the CRD was looked at %d times", d.looks)
			}
			// Another replica knows nothing of that, and finds out.
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

func TestAGroupWhoseCRDIsGoneOrCannotBeLookedAtKeepsItsVMs(t *testing.T) {
	for story, d := range map[string]*definition{"gone": {}, "no answer": {err: errors.New("connection refused")}} {
		t.Run(story, func(t *testing.T) {
			r := swept(t, d)
			if r.gone() || len(r.vcenter.Journal()) > 0 {
				t.Fatalf("it goes: %v", r.vcenter.Journal())
			}
			d.object, d.err = &metav1.ObjectMeta{UID: "new"}, nil
			r.now = r.now.Add(group.DefinitionInterval)
			if !r.gone() {
				t.Errorf("it stays though its CRD does: %v", words(r.group().Status.Conditions))
			}
		})
	}
}

func TestADeletionWhileTheCRDStaysIsLookedIntoOnce(t *testing.T) {
	for story, d := range map[string]*definition{
		"it stays":                {object: &metav1.ObjectMeta{UID: "crd-uid"}},
		"the roles are of before": {err: apierrors.NewForbidden(schema.GroupResource{Resource: "customresourcedefinitions"}, "vmgroups", nil)},
	} {
		t.Run(story, func(t *testing.T) {
			r := swept(t, d)
			r.mustPass()
			looks := d.looks
			if d.err == nil {
				d.object = going(nil) // the group was deleted before that
			}
			if !r.gone() {
				t.Errorf("it stays: %v", words(r.group().Status.Conditions))
			}
			if looks != 1 || d.err == nil && d.looks != 1 {
				t.Errorf("the CRD was looked at %d times", d.looks)
			}
		})
	}
}
