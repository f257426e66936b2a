package plan

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestBegin(t *testing.T) {
	earlier := epoch.Add(-time.Hour)
	was := &Rollout{Revision: "b", From: []string{"a"}, Start: earlier, Failed: []string{"u"}}
	for name, test := range map[string]struct {
		was       *Rollout
		edited    bool
		target    string
		revisions []string
		want      Rollout
	}{
		"nothing is recorded":      {nil, true, "b", []string{"a"}, Rollout{Revision: "b"}},
		"the same":                 {was, true, "b", []string{"a", "x"}, *was},
		"another, and no edit":     {was, false, "c", []string{"a"}, Rollout{Revision: "c"}},
		"an edit":                  {&Rollout{Revision: "a"}, true, "b", []string{"a", "a", "x"}, Rollout{Revision: "b", From: []string{"a", "x"}, Start: epoch, SurgeKnown: true}},
		"an edit of one under way": {was, true, "c", []string{"b", "a"}, Rollout{Revision: "c", From: []string{"a", "b"}, Start: epoch}},
		"an edit of one with more VMs": {&Rollout{Revision: "b", From: []string{"a"}, Surge: []string{"u"}, SurgeKnown: true}, true, "c", []string{"b"}, Rollout{
			Revision: "c", From: []string{"a", "b"}, Start: epoch, Surge: []string{"u"}, SurgeKnown: true,
		}},
		"the end of one with more VMs": {&Rollout{Revision: "b", Surge: []string{"u"}, SurgeKnown: true}, true, "b", nil, Rollout{Revision: "b", Surge: []string{"u"}, SurgeKnown: true}},
		"undo":                         {was, true, "a", []string{"b", "a"}, Rollout{Revision: "a", From: []string{"b"}, Start: epoch}},
		"an edit of a group of none":   {&Rollout{Revision: "a"}, true, "b", nil, Rollout{Revision: "b"}},
		"what is under way may show":   {&Rollout{Revision: "b", From: []string{"a"}}, true, "c", []string{"a"}, Rollout{Revision: "c", From: []string{"a", "b"}, Start: epoch}},
		"written by hand":              {&Rollout{Revision: "b", From: []string{"b", "", "a", "a"}, Start: earlier, Failed: []string{"u", "u"}}, false, "b", nil, *was},
		"all are of the target":        {&Rollout{Revision: "b", From: []string{"b"}, Start: earlier, Failed: []string{"u"}}, false, "b", nil, Rollout{Revision: "b"}},
		"VMs of the target":            {&Rollout{Revision: "b"}, true, "b", []string{"a"}, Rollout{Revision: "b"}},
		"an edit that VMs were ahead":  {&Rollout{Revision: "a"}, true, "b", []string{"b"}, Rollout{Revision: "b", From: []string{"a"}, Start: epoch, SurgeKnown: true}},
	} {
		if got := Begin(test.was, test.edited, test.target, test.revisions, epoch); !reflect.DeepEqual(normal(got), normal(test.want)) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
	many := make([]string, 0, 2*maxFrom)
	for i := range 2 * maxFrom {
		many = append(many, fmt.Sprintf("r%02d", i))
	}
	if got := Begin(&Rollout{Revision: "a"}, true, "b", many, epoch); len(got.From) != maxFrom || !slices.Contains(many, got.From[0]) {
		t.Errorf("from are %v", got.From)
	}
}

func normal(r Rollout) string { return fmt.Sprintf("%+v", r) }

// TestRevisionsThatStatusKeeps: those of VMs before others, and spec's last.
func TestRevisionsThatStatusKeeps(t *testing.T) {
	shapes := make([]Shape, 0, 6)
	spec := validSpec(1)
	for cpu := range int32(6) {
		spec.CPU = 10 + cpu
		shapes = append(shapes, Shape{Recorded: ShapeOf(spec)})
	}
	in := input(1, has(makeVM(0)))
	in.Observation.VMs[0].Stamp.Revision = shapes[0].Recorded.Revision
	in.Shapes = shapes
	cpus := make([]int32, 0, v1alpha1.MaxRevisions)
	for _, r := range Compute(in).Revisions {
		cpus = append(cpus, r.CPU)
	}
	if want := []int32{10, 13, 14, 15, 2}; !slices.Equal(cpus, want) {
		t.Errorf("kept are those with %v CPUs, want %v", cpus, want)
	}
	in.Spec = v1alpha1.VmGroupSpec{}
	if got := Compute(in).Revisions; slices.ContainsFunc(got, func(r v1alpha1.Revision) bool { return r.CPU == 0 }) {
		t.Errorf("an empty spec is kept: %v", got)
	}
}

// TestShapesOfAdoptedVMsAreKept: as long as a VM has them. If there are too many, the recorded ones stay.
func TestShapesOfAdoptedVMsAreKept(t *testing.T) {
	const most = v1alpha1.MaxAdoptedRevisions
	adopted := func(cpu int32) Shape {
		spec := validSpec(1)
		spec.CPU = cpu
		return Shape{Recorded: ShapeOf(spec), Adopted: true}
	}
	in := input(most + 1)
	want := make([]int32, 0, most+1)
	for i := range int32(most + 1) {
		in.Shapes, want = append(in.Shapes, adopted(10+i)), append(want, 10+i)
		vm := makeVM(i)
		vm.Stamp.Revision = in.Shapes[i].Recorded.Revision
		has(vm)(&in)
	}
	in.Shapes = append(in.Shapes, adopted(99)) // no VM has it
	check := func(want []int32) {
		t.Helper()
		p := Compute(in)
		got := make([]int32, 0, most)
		for _, r := range p.AdoptedRevisions {
			got = append(got, r.CPU)
		}
		if !slices.Equal(got, want) {
			t.Errorf("recorded are those with %v CPUs, want %v", got, want)
		}
		if len(p.Revisions) != 1 || p.Revisions[0].Revision != in.Revision {
			t.Errorf("of specs, %+v are recorded", p.Revisions)
		}
	}
	check(want[1:])
	in.Spec.CPU = 10 + most // spec asks for the size of an adopted VM
	in.Revision = Revision(in.Spec)
	in.UpdateRevision = in.Revision
	check(want[:most])
}
