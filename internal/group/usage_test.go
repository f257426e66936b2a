package group

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

func TestVMsThatLeaveCountUntilTheyAreGone(t *testing.T) {
	group := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 8, Memory: 8, Template: "t", Replicas: ptr.To[int32](1)}}
	group.Status.Admitted = &v1alpha1.Admitted{Revision: "r", Replicas: 1, CPU: 2, Memory: 3, Template: "t"}
	for vms, want := range map[int]policy.Usage{
		0: {Groups: 1, VMs: 1, CPU: 2, Memory: 3},
		1: {Groups: 1, VMs: 1, CPU: 2, Memory: 3},
		4: {Groups: 1, VMs: 4, CPU: 8, Memory: 12},
	} {
		group.Status.VMs = make([]v1alpha1.VMStatus, vms)
		if got := Occupies(group); got != want {
			t.Errorf("with %d VMs it occupies %+v, want %+v", vms, got, want)
		}
	}
}

func TestAGroupThatNothingWasAdmittedOfHoldsWhatExists(t *testing.T) {
	of := func(a *v1alpha1.Admitted) *v1alpha1.VmGroup {
		g := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 8, Memory: 8, Template: "t", Replicas: ptr.To[int32](5)}}
		g.Status.Admitted = a
		return g
	}
	shapeless, shape := &v1alpha1.Admitted{Replicas: 1}, &v1alpha1.Admitted{Replicas: 1, CPU: 1, Memory: 3, Template: "t"}
	two, none := policy.Usage{Groups: 1, VMs: 2, CPU: 16, Memory: 16}, policy.Usage{}
	for story, c := range map[string]struct {
		group    *v1alpha1.VmGroup
		existing int32
		want     policy.Usage
	}{
		"nothing exists":              {of(nil), 0, none},
		"two exist":                   {of(nil), 2, two},
		"two exist, without a shape":  {of(shapeless), 2, two},
		"the smallest admitted shape": {of(shape), 2, policy.Usage{Groups: 1, VMs: 1, CPU: 1, Memory: 3}},
	} {
		if got := Holds(c.group, c.existing); got != c.want {
			t.Errorf("%s: it holds %+v, want %+v", story, got, c.want)
		}
	}
}
