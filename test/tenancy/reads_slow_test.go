//go:build unix && slow

package tenancy

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

// heavyLabels make a group about as large as the maximum size of a member's object.
const heavyLabels = 120_000

// TestAHostileMemberWithOneGroupAndAnyAnnotationKeepsTheOperatorSmall: the group has the maximum size, so has each
// response about it, and lists are endless.
func TestAHostileMemberWithOneGroupAndAnyAnnotationKeepsTheOperatorSmall(t *testing.T) {
	w := shared.enter(t)
	defer w.isSmall(t)
	g := newGuarded(t, w, "reads")
	a := newAttacker(t, w, "annotator", fresh("annotator")).joined()
	old := string(a.released("old"))
	lists := &endlessLists{}
	a.Attack(lists.attack)
	labels := make(map[string]any, heavyLabels)
	for i := range heavyLabels {
		labels[fmt.Sprintf("%05x", i)] = ""
	}
	own := uuid.NewUUID()
	adopt := func(from string) map[string]any { return map[string]any{v1alpha1.AdoptAnnotation: from} }
	generation := int64(1)
	for _, annotations := range []map[string]any{
		adopt(string(uuid.NewUUID())), adopt(string(own)), adopt(old), adopt(v1alpha1.AdoptLegacy), adopt(v1alpha1.AdoptAbandon), adopt("none"),
		{v1alpha1.ReleaseAnnotation: own}, {v1alpha1.ForgetAnnotation: own}, {v1alpha1.ConfirmDeletionAnnotation: own}, {v1alpha1.PausedAnnotation: "true"},
		{ // annotations with a meaning on the hub's objects
			v1alpha1.AllowForgetAnnotation: "2999-01-01T00:00:00Z", v1alpha1.AllowAdoptionAnnotation: "2999-01-01T00:00:00Z", v1alpha1.AllowMassDeletionAnnotation: "2999-01-01T00:00:00Z",
			v1alpha1.AcceptAdmittedAnnotation: "2999-01-01T00:00:00Z", v1alpha1.TakeClusterUIDAnnotation: own, v1alpha1.AcceptInstanceAnnotation: "any",
			v1alpha1.AcceptEmptyAnnotation: "true", v1alpha1.PredecessorAnnotation: own, v1alpha1.VCenterHostsAnnotation: "*",
		},
	} {
		for _, deleted := range []bool{false, true} {
			generation++
			o := a.invention("one", own, 1)
			hostileapi.Set(o, generation, "metadata", "generation")
			hostileapi.Set(o, labels, "metadata", "labels")
			hostileapi.Set(o, annotations, "metadata", "annotations")
			if deleted {
				hostileapi.Set(o, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
				hostileapi.Set(o, []any{v1alpha1.VmGroupFinalizer}, "metadata", "finalizers")
			}
			a.Invent(groups, o)
			a.untilInvented(fmt.Sprintf("a status with %v (deleted: %t)", annotations, deleted), "one", func(o hostileapi.Object) bool {
				status, _ := o["status"].(hostileapi.Object)
				return o == nil || fmt.Sprint(status["observedGeneration"]) == fmt.Sprint(generation)
			})
		}
	}
	if n := lists.pages.Load(); n > 0 {
		t.Errorf("the operator read %d pages of lists", n)
	}
	g.served("while a group with every annotation is as large as can be")
}
