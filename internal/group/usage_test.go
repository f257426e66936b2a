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
