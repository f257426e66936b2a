package plan

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestRevision(t *testing.T) {
	const recorded = "1-1f5e5721b7" // VMs carry it: a change would report, and later replace, every one of them
	if got := Revision(validSpec(1)); got != recorded {
		t.Errorf("the revision of an unchanged spec changed from %s to %s", recorded, got)
	}
	for name, test := range map[string]struct {
		edit    func(*v1alpha1.VmGroupSpec)
		differs bool
	}{
		"trigger":         {func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: "1"} }, true},
		"strategy":        {func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy = &v1alpha1.UpdateStrategy{Paused: true} }, false},
		"cpu":             {func(s *v1alpha1.VmGroupSpec) { s.CPU++ }, true},
		"sockets":         {func(s *v1alpha1.VmGroupSpec) { s.CoresPerSocket = 1 }, true},
		"root disk":       {func(s *v1alpha1.VmGroupSpec) { s.Disks = disksOf(20) }, true},
		"data disk":       {func(s *v1alpha1.VmGroupSpec) { s.Disks = disksOf(0, v1alpha1.DataDisk{Name: "a", SizeGiB: 1}) }, true},
		"no data disk":    {func(s *v1alpha1.VmGroupSpec) { s.Disks = &v1alpha1.Disks{Data: []v1alpha1.DataDisk{}} }, false},
		"no size":         {func(s *v1alpha1.VmGroupSpec) { s.Disks = &v1alpha1.Disks{} }, false},
		"memory":          {func(s *v1alpha1.VmGroupSpec) { s.Memory++ }, true},
		"template":        {func(s *v1alpha1.VmGroupSpec) { s.Template += "x" }, true},
		"network":         {func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: "n"} }, true},
		"clone mode":      {func(s *v1alpha1.VmGroupSpec) { s.CloneMode = v1alpha1.CloneLinked }, true},
		"default mode":    {func(s *v1alpha1.VmGroupSpec) { s.CloneMode = v1alpha1.CloneFull }, false},
		"empty placement": {func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{} }, false},
		"replicas":        {func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr(int32(7)) }, false},
		"power state":     {func(s *v1alpha1.VmGroupSpec) { s.PowerState = v1alpha1.PoweredOff }, false},
		"scale-down":      {func(s *v1alpha1.VmGroupSpec) { s.ScaleDown = &v1alpha1.ScaleDown{} }, false},
	} {
		spec := validSpec(1)
		test.edit(&spec)
		if differs := Revision(spec) != recorded; differs != test.differs {
			t.Errorf("%s: the revision differs: %t, want %t", name, differs, test.differs)
		}
	}
}

// TestRecordedRevisions pins the revisions of specs that set everything: VMs carry them.
func TestRecordedRevisions(t *testing.T) {
	spec := validSpec(1)
	spec.Placement = &v1alpha1.Placement{ResourcePool: "pool", Datastore: "ssd", Network: "lan"}
	spec.CloneMode, spec.UserDataSecretRef = v1alpha1.CloneLinked, &v1alpha1.LocalObjectReference{Name: "boot"}
	if got := Revision(spec); got != "1-89571704ac" {
		t.Errorf("the revision of a full spec without a trigger is %s now", got)
	}
	spec.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: "again"}
	if got := Revision(spec); got != "1-050cf82d9f" {
		t.Errorf("the revision of a full spec is %s now", got)
	}
	spec.CoresPerSocket = 1
	if got := Revision(spec); got != "1-0968501cc3" {
		t.Errorf("the revision of a full spec with sockets is %s now", got)
	}
	spec.Disks = disksOf(20)
	if got := Revision(spec); got != "1-573566ae1e" {
		t.Errorf("the revision of a full spec with sockets and a disk is %s now", got)
	}
}

func TestShapesAreBelievedIfTheyAreWhatTheySay(t *testing.T) {
	spec := validSpec(1)
	spec.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: "again"}
	shape := ShapeOf(spec)
	forged := shape
	forged.Template = "mine"
	got := Believed([]v1alpha1.Revision{forged, shape, shape, {}})
	if len(got) != 1 || !reflect.DeepEqual(got[0].Recorded, shape) {
		t.Fatalf("believed are %+v, want only %+v", got, shape)
	}
	other := validSpec(7)
	other.CPU, other.Template, other.Placement = 9, "other", &v1alpha1.Placement{Network: "dmz"}
	if applied := Apply(shape, other); Revision(applied) != shape.Revision || *applied.Replicas != 7 || other.CPU != 9 {
		t.Errorf("applied, the shape is %s with %d replicas, want %s with 7", Revision(applied), *applied.Replicas, shape.Revision)
	}
}

// TestNoMoreShapesAreBelievedThanTheOperatorRecords: an API server that ignores the schema can show
// thousands, each with its own user data Secret.
func TestNoMoreShapesAreBelievedThanTheOperatorRecords(t *testing.T) {
	const many = 1000
	recorded := make([]v1alpha1.Revision, 0, many)
	for i := range many {
		spec := validSpec(1)
		spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: fmt.Sprint("secret-", i)}
		recorded = append(recorded, ShapeOf(spec))
	}
	if got := Believed(recorded); len(got) != v1alpha1.MaxRevisions {
		t.Errorf("%d shapes are believed", len(got))
	}
	if got := BelievedAdopted(recorded); len(got) != v1alpha1.MaxAdoptedRevisions {
		t.Errorf("%d shapes of adopted VMs are believed", len(got))
	}
	if got := Believed(recorded[:v1alpha1.MaxRevisions]); len(got) != v1alpha1.MaxRevisions {
		t.Errorf("%d of %d shapes are believed", len(got), v1alpha1.MaxRevisions)
	}
}
