package group

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestStatusRecordsWhoIsListedToLeaveFirst(t *testing.T) {
	shrinks := func(recorded ...v1alpha1.ListedVM) *Snapshot {
		s := edited(func(s *v1alpha1.VmGroupSpec) {
			s.Template, s.Replicas, s.ScaleDown = "debian", new(int32(2)), &v1alpha1.ScaleDown{DeleteFirst: []string{"web-0"}}
		})
		s.Group.Status.DeleteFirst = recorded
		return s
	}
	this, another := v1alpha1.ListedVM{Name: "web-0", MoRef: "vm-0"}, v1alpha1.ListedVM{Name: "web-0", MoRef: "vm-9"}
	for story, c := range map[string]struct {
		recorded []v1alpha1.ListedVM
		want     v1alpha1.ListedVM
		leaves   int32
	}{
		"listed a moment ago":        {nil, this, 0},
		"listed before":              {[]v1alpha1.ListedVM{this}, this, 0},
		"listed before it was there": {[]v1alpha1.ListedVM{another}, another, 2},
	} {
		d := Decide(shrinks(c.recorded...))
		if d.Status == nil || !slices.Equal(d.Status.DeleteFirst, []v1alpha1.ListedVM{c.want}) || !slices.Equal(d.Status.Deleting, []int32{c.leaves}) {
			t.Errorf("%s: the status is %+v", story, d.Status)
		}
	}
	s := shrinks(another)
	s.Group.Spec.ScaleDown = nil
	if d := Decide(s); d.Status == nil || len(d.Status.DeleteFirst) > 0 {
		t.Errorf("taken off the list: %+v", d.Status)
	}
	s = shrinks(another)
	s.See(vsphere.Observation{Incomplete: "why"})
	if d := Decide(s); d.Status == nil || !slices.Equal(d.Status.DeleteFirst, []v1alpha1.ListedVM{another}) {
		t.Errorf("with an incomplete inventory, the status is %+v", d.Status)
	}
}
