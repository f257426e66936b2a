package govmomi

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

// A locked file made a group Stalled, as if only another spec could help.
func TestAHostThatCannotPowerOnAVMNowIsAskedAgain(t *testing.T) {
	for _, c := range []struct {
		kind  vsphere.OperationKind
		fault types.BaseMethodFault
		want  vsphere.Kind
	}{
		{vsphere.OpPowerOn, &types.GenericVmConfigFault{Reason: "Failed to lock the file"}, vsphere.KindTransient},
		{vsphere.OpReconfigure, &types.GenericVmConfigFault{Reason: "Failed to lock the file"}, vsphere.KindSpec},
		{vsphere.OpPowerOn, &types.InvalidVmConfig{}, vsphere.KindSpec},
		{vsphere.OpPowerOn, &types.NotEnoughLicenses{}, vsphere.KindSpec},
		{vsphere.OpPowerOn, &types.CannotAccessNetwork{}, vsphere.KindCapacity},
	} {
		err := translateFor(operations.Request{Kind: c.kind, Name: "web-0"}, taskError{&types.LocalizedMethodFault{Fault: c.fault}})
		if got := vsphere.KindOf(err); got != c.want {
			t.Errorf("%s refused with %T is %s, want %s", c.kind, c.fault, got, c.want)
		}
	}
}
