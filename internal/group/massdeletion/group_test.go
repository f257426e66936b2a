package massdeletion

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestWhatCountsOfAVmGroup(t *testing.T) {
	replicas := func(n int32) func(*v1alpha1.VmGroup) { return func(g *v1alpha1.VmGroup) { g.Spec.Replicas = &n } }
	annotated := func(value string) func(*v1alpha1.VmGroup) {
		return func(g *v1alpha1.VmGroup) {
			g.Annotations = map[string]string{v1alpha1.ConfirmDeletionAnnotation: value}
		}
	}
	deleted := func(g *v1alpha1.VmGroup) { g.DeletionTimestamp = &metav1.Time{Time: noon} }
	for name, test := range map[string]struct {
		edits             []func(*v1alpha1.VmGroup)
		existing, removes int
		spared, all, held bool
	}{
		"as it is":                              {existing: 3},
		"a clone that is not there yet":         {edits: []func(*v1alpha1.VmGroup){func(g *v1alpha1.VmGroup) { g.Status.VMs[2].MoRef = "" }}, existing: 2},
		"deleted":                               {edits: []func(*v1alpha1.VmGroup){deleted}, existing: 3, removes: 3, all: true},
		"smaller":                               {edits: []func(*v1alpha1.VmGroup){replicas(1)}, existing: 3, removes: 2},
		"larger":                                {edits: []func(*v1alpha1.VmGroup){replicas(9)}, existing: 3},
		"none":                                  {edits: []func(*v1alpha1.VmGroup){replicas(0)}, existing: 3, removes: 3, all: true},
		"a number that is none":                 {edits: []func(*v1alpha1.VmGroup){replicas(-3)}, existing: 3},
		"no number":                             {edits: []func(*v1alpha1.VmGroup){func(g *v1alpha1.VmGroup) { g.Spec.Replicas = nil }}, existing: 3, removes: 2},
		"an empty spec":                         {edits: []func(*v1alpha1.VmGroup){func(g *v1alpha1.VmGroup) { g.Spec = v1alpha1.VmGroupSpec{} }}, existing: 3},
		"Retain":                                {edits: []func(*v1alpha1.VmGroup){deleted, func(g *v1alpha1.VmGroup) { g.Spec.DeletionPolicy = v1alpha1.DeletionRetain }}, existing: 3, removes: 3, spared: true, all: true},
		"confirmed":                             {edits: []func(*v1alpha1.VmGroup){deleted, annotated("uid")}, existing: 3, removes: 3, spared: true, all: true},
		"confirmed with another's UID":          {edits: []func(*v1alpha1.VmGroup){deleted, annotated("uid-2")}, existing: 3, removes: 3, all: true},
		"an object without a UID is no object":  {edits: []func(*v1alpha1.VmGroup){deleted, annotated(""), func(g *v1alpha1.VmGroup) { g.UID = "" }}, existing: 3, removes: 3, all: true},
		"a status that was wiped":               {edits: []func(*v1alpha1.VmGroup){deleted, func(g *v1alpha1.VmGroup) { g.Status = v1alpha1.VmGroupStatus{} }}, existing: 3, removes: 3, all: true},
		"a status with more VMs than there are": {edits: []func(*v1alpha1.VmGroup){deleted, func(g *v1alpha1.VmGroup) { g.Status.VMs = many(5000) }}, existing: mostVMs, removes: mostVMs, all: true},
		"held": {edits: []func(*v1alpha1.VmGroup){deleted, func(g *v1alpha1.VmGroup) {
			g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRemoving, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonMassDeletion}}
		}}, existing: 3, removes: 3, all: true, held: true},
		"held while it shrinks": {edits: []func(*v1alpha1.VmGroup){replicas(1), func(g *v1alpha1.VmGroup) {
			g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonMassDeletion}}
		}}, existing: 3, removes: 2, held: true},
		"updated":                          {edits: []func(*v1alpha1.VmGroup){updated(3, 4)}, existing: 4},
		"more VMs than an update may have": {edits: []func(*v1alpha1.VmGroup){updated(3, 6)}, existing: 6, removes: 2},
		"as many as an update may have": {edits: []func(*v1alpha1.VmGroup){updated(3, 6), func(g *v1alpha1.VmGroup) {
			g.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: ptr.To(intstr.FromString("100%"))}
		}}, existing: 6},
		"an update of a group that wants none": {edits: []func(*v1alpha1.VmGroup){updated(0, 4)}, existing: 4, removes: 4, all: true},
		"an update of a group that is deleted": {edits: []func(*v1alpha1.VmGroup){updated(3, 4), deleted}, existing: 4, removes: 4, all: true},
		"an update that has ended": {edits: []func(*v1alpha1.VmGroup){updated(3, 4), func(g *v1alpha1.VmGroup) {
			g.Status.Rollout.From = nil
		}}, existing: 4, removes: 1},
		"pending": {edits: []func(*v1alpha1.VmGroup){deleted, func(g *v1alpha1.VmGroup) {
			g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRemoving, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDeletionPending}}
		}}, existing: 3, removes: 3, all: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := int32(3)
			vmGroup := &v1alpha1.VmGroup{
				ObjectMeta: metav1.ObjectMeta{UID: "uid", Name: "web"},
				Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: &n},
				Status:     v1alpha1.VmGroupStatus{ObservedGeneration: 1, VMs: many(3)},
			}
			for _, edit := range test.edits {
				edit(vmGroup)
			}
			g := Of(vmGroup)
			if g.Existing != test.existing || g.Removes() != test.removes || g.Spared != test.spared || g.RemovesAll() != test.all || g.Held != test.held {
				t.Errorf("%+v removes %d", g, g.Removes())
			}
		})
	}
}

// updated is a group with a number of wanted VMs and others, during their update.
func updated(wanted int32, existing int) func(*v1alpha1.VmGroup) {
	return func(g *v1alpha1.VmGroup) {
		g.Spec.Replicas, g.Status.VMs = &wanted, many(existing)
		g.Status.Rollout = &v1alpha1.Rollout{Revision: "new", From: []string{"old"}}
	}
}

func many(n int) []v1alpha1.VMStatus {
	vms := make([]v1alpha1.VMStatus, n)
	for i := range vms {
		vms[i].Ordinal, vms[i].MoRef = int32(i), "vm-1"
	}
	return vms
}
