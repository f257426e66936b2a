package plan

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestRevision(t *testing.T) {
	const recorded = "1-1f5e5721b7" // VMs carry it: a change would report, and later roll, every one of them
	if got := Revision(validSpec(1)); got != recorded {
		t.Errorf("the revision of an unchanged spec changed from %s to %s", recorded, got)
	}
	for name, test := range map[string]struct {
		edit    func(*v1alpha1.VmGroupSpec)
		differs bool
	}{
		"cpu":             {func(s *v1alpha1.VmGroupSpec) { s.CPU++ }, true},
		"memory":          {func(s *v1alpha1.VmGroupSpec) { s.Memory++ }, true},
		"template":        {func(s *v1alpha1.VmGroupSpec) { s.Template += "x" }, true},
		"network":         {func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: "n"} }, true},
		"clone mode":      {func(s *v1alpha1.VmGroupSpec) { s.CloneMode = v1alpha1.CloneLinked }, true},
		"default mode":    {func(s *v1alpha1.VmGroupSpec) { s.CloneMode = v1alpha1.CloneFull }, false},
		"empty placement": {func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{} }, false},
		"replicas":        {func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr(int32(7)) }, false},
		"power state":     {func(s *v1alpha1.VmGroupSpec) { s.PowerState = v1alpha1.PowerOff }, false},
		"scale-down":      {func(s *v1alpha1.VmGroupSpec) { s.ScaleDown = &v1alpha1.ScaleDown{} }, false},
	} {
		spec := validSpec(1)
		test.edit(&spec)
		if differs := Revision(spec) != recorded; differs != test.differs {
			t.Errorf("%s: the revision differs: %t, want %t", name, differs, test.differs)
		}
	}
}
