package rollout

import (
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

func group(current, update string, specs ...v1alpha1.VmGroupSpec) *v1alpha1.VmGroup {
	g := &v1alpha1.VmGroup{Spec: specs[len(specs)-1], Status: v1alpha1.VmGroupStatus{CurrentRevision: current, UpdateRevision: update}}
	for _, spec := range specs {
		g.Status.Revisions = append(g.Status.Revisions, plan.ShapeOf(spec))
	}
	return g
}

var (
	first  = v1alpha1.VmGroupSpec{CPU: 1, Memory: 2, Template: "debian-12", Placement: &v1alpha1.Placement{Datastore: "d1"}}
	second = v1alpha1.VmGroupSpec{CPU: 2, Memory: 2, Template: "debian-13", UpdateStrategy: &v1alpha1.UpdateStrategy{ReplaceTrigger: "a", Paused: true}}
	third  = v1alpha1.VmGroupSpec{CPU: 4, Memory: 8, Template: "debian-13", UpdateStrategy: &v1alpha1.UpdateStrategy{ReplaceTrigger: "b", Paused: true}}
)

func TestUndoReturnsToTheRevisionBeforeTheUpdate(t *testing.T) {
	r1, r2, r3 := plan.Revision(first), plan.Revision(second), plan.Revision(third)
	for name, test := range map[string]struct {
		of           *v1alpha1.VmGroup
		wanted, want string
	}{
		"during an update":                {group(r1, r3, first, second, third), "", r1},
		"after an update":                 {group(r3, r3, first, second, third), "", r2},
		"after an update back":            {group(r1, r1, second, third, first), "", r3},
		"to a named one":                  {group(r3, r3, first, second, third), r1, r1},
		"to one without a replaceTrigger": {group(r1, r2, first, second), "", r1},
		"to one with a replaceTrigger":    {group(r2, r1, second, first), "", r2},
	} {
		undone, err := Undo(test.of, test.wanted)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := plan.Revision(undone.Spec); got != test.want {
			t.Errorf("%s: spec has revision %s, want %s: %+v", name, got, test.want, undone.Spec)
		}
		if s := test.of.Spec.UpdateStrategy; s != nil && undone.Spec.UpdateStrategy.Paused != s.Paused {
			t.Errorf("%s: undo changed the strategy: %+v", name, undone.Spec.UpdateStrategy)
		}
	}
}

// All VMs can have a shape that no spec had.
func TestUndoReturnsToNoShapeOfAnAdoptedVM(t *testing.T) {
	of := group(plan.Revision(first), plan.Revision(third), second, third)
	of.Status.AdoptedRevisions = []v1alpha1.Revision{plan.ShapeOf(first)}
	undone, err := Undo(of, "")
	if err != nil || plan.Revision(undone.Spec) != plan.Revision(second) {
		t.Errorf("%v, %+v", err, undone)
	}
}

// The API refuses a smaller disk.
func TestUndoShrinksNoDisk(t *testing.T) {
	disk := func(sizeGiB int32) *v1alpha1.Disks {
		return &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: sizeGiB}}
	}
	small, large, unset := first, second, third
	small.Disks, large.Disks = disk(20), disk(40)
	for name, test := range map[string]struct {
		before, after v1alpha1.VmGroupSpec
		want          int32
	}{
		"a larger disk stays":   {small, large, 40},
		"a smaller one grows":   {large, small, 40},
		"no size stays no size": {unset, large, 0},
		"a size returns":        {small, unset, 20},
	} {
		undone, err := Undo(group(plan.Revision(test.before), plan.Revision(test.after), test.before, test.after), "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := undone.Spec.Shape().RootDiskGiB(); got != test.want || undone.Spec.CPU != test.before.CPU {
			t.Errorf("%s: %d GiB and %d CPUs, want %d and %d", name, got, undone.Spec.CPU, test.want, test.before.CPU)
		}
	}
}

func TestUndoShrinksNoDataDiskAndRemovesNewOnes(t *testing.T) {
	before, after := first, second
	before.Disks = &v1alpha1.Disks{Data: []v1alpha1.DataDisk{{Name: "data", SizeGiB: 5}, {Name: "old", SizeGiB: 1}}}
	after.Disks = &v1alpha1.Disks{Data: []v1alpha1.DataDisk{{Name: "data", SizeGiB: 8}, {Name: "new", SizeGiB: 1}}}
	undone, err := Undo(group(plan.Revision(before), plan.Revision(after), before, after), "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := undone.Spec.Shape().DataDisks(), []v1alpha1.DataDisk{{Name: "data", SizeGiB: 8}, {Name: "old", SizeGiB: 1}}; !slices.Equal(got, want) {
		t.Errorf("the disks are %+v, want %+v", got, want)
	}
}

func TestUndoWithoutAnEarlierRevisionFails(t *testing.T) {
	r1 := plan.Revision(first)
	var failure *NoRevisionError
	for _, of := range []*v1alpha1.VmGroup{group(r1, r1, first), {}, group("lost", r1, first)} {
		if _, err := Undo(of, ""); !errors.As(err, &failure) {
			t.Errorf("error %v of %+v", err, of.Status)
		}
	}
	if _, err := Undo(group(r1, r1, first, second), "none"); !errors.As(err, &failure) || failure.Wanted != "none" || len(failure.Recorded) != 2 {
		t.Errorf("error %v", err)
	}
}

func TestAnUpdateIsCompleteOnlyIfTheOperatorSawTheEdit(t *testing.T) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}
	is := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "because"}
	}
	upToDate := is(v1alpha1.ConditionUpToDate, metav1.ConditionTrue, "UpToDate")
	for name, test := range map[string]struct {
		seen            int64
		conditions      []metav1.Condition
		complete, waits bool
	}{
		"complete":             {2, []metav1.Condition{ready, upToDate}, true, false},
		"edit not seen":        {1, []metav1.Condition{ready, upToDate}, false, false},
		"not ready":            {2, []metav1.Condition{is(v1alpha1.ConditionReady, metav1.ConditionFalse, "x"), upToDate}, false, false},
		"progressing":          {2, []metav1.Condition{ready, is(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonRolloutProgressing)}, false, false},
		"paused":               {2, []metav1.Condition{ready, is(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonRolloutPaused)}, false, true},
		"stopped":              {2, []metav1.Condition{ready, is(v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonRolloutStopped)}, false, true},
		"stalled":              {2, []metav1.Condition{is(v1alpha1.ConditionStalled, metav1.ConditionTrue, "TemplateNotFound")}, false, true},
		"the group is paused":  {2, []metav1.Condition{ready, upToDate, is(v1alpha1.ConditionPaused, metav1.ConditionTrue, "Paused")}, false, true},
		"nothing reported":     {2, nil, false, false},
		"of an older operator": {2, []metav1.Condition{ready}, true, false},
	} {
		g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: v1alpha1.VmGroupStatus{ObservedGeneration: test.seen, Conditions: test.conditions}}
		if got := Of(g); got.Complete != test.complete || got.Waits != test.waits || got.Text == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	deleted := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}, Status: v1alpha1.VmGroupStatus{Conditions: []metav1.Condition{ready, upToDate}}}
	if got := Of(deleted); !got.Waits {
		t.Errorf("deleted: %+v", got)
	}
}
