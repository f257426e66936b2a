package govmomi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

func TestFaults(t *testing.T) {
	vmRef := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-7"}
	for _, test := range []struct {
		fault types.BaseMethodFault
		kind  vsphere.Kind
	}{
		{&types.NotAuthenticated{}, vsphere.KindTransient},
		{&types.InvalidLogin{}, vsphere.KindCredentials},
		{&types.NoPermission{PrivilegeId: "VirtualMachine.Interact.PowerOn", Object: &vmRef}, vsphere.KindPermission},
		{&types.DuplicateName{Name: "x", Object: vmRef}, vsphere.KindNameTaken},
		{&types.AlreadyExists{}, vsphere.KindNameTaken},
		{&types.ManagedObjectNotFound{Obj: vmRef}, vsphere.KindNotFound},
		{&types.InvalidPowerState{}, vsphere.KindBusy},
		{&types.TaskInProgress{}, vsphere.KindBusy},
		{&types.ConcurrentAccess{}, vsphere.KindBusy},
		{&types.ResourceInUse{}, vsphere.KindBusy},
		{&types.InvalidState{}, vsphere.KindBusy},
		{&types.MethodDisabled{}, vsphere.KindBusy},
		{&types.QuestionPending{}, vsphere.KindBusy},
		{&types.FileLocked{}, vsphere.KindBusy},
		{&types.TooManyConcurrentNativeClones{}, vsphere.KindBusy},
		{&types.InsufficientResourcesFault{}, vsphere.KindCapacity},
		{&types.InsufficientMemoryResourcesFault{}, vsphere.KindCapacity},
		{&types.InsufficientFailoverResourcesFault{}, vsphere.KindCapacity},
		{&types.GenericDrsFault{}, vsphere.KindCapacity},
		{&types.NoDiskSpace{}, vsphere.KindCapacity},
		{&types.NoCompatibleHost{}, vsphere.KindCapacity},
		{&types.CannotAccessVmDisk{}, vsphere.KindCapacity},
		{&types.CannotAccessNetwork{}, vsphere.KindCapacity},
		{&types.InvalidHostState{}, vsphere.KindBusy},
		{&types.NotEnoughLicenses{}, vsphere.KindSpec},
		{&types.LicenseExpired{}, vsphere.KindSpec},
		{&types.GenericVmConfigFault{}, vsphere.KindSpec},
		{&types.RequestCanceled{}, vsphere.KindTransient},
		{&types.HostNotConnected{}, vsphere.KindTransient},
		{&types.HostNotReachable{}, vsphere.KindTransient},
		{&types.HostCommunication{}, vsphere.KindTransient},
		{&types.NoHost{}, vsphere.KindTransient},
		{&types.InaccessibleDatastore{}, vsphere.KindTransient},
		{&types.Timedout{}, vsphere.KindTransient},
		{&types.SystemError{}, vsphere.KindTransient},
		{&types.InvalidArgument{}, vsphere.KindSpec},
		{&types.InvalidVmConfig{}, vsphere.KindSpec},
		{&types.NotSupported{}, vsphere.KindSpec},
		{&types.CpuHotPlugNotSupported{}, vsphere.KindOffOnly},
		{&types.MemoryHotPlugNotSupported{}, vsphere.KindOffOnly},
		{&types.CustomizationFault{}, vsphere.KindSpec},
		{&types.NicSettingMismatch{}, vsphere.KindSpec},
	} {
		for name, err := range wrappings(test.fault) {
			got := translate("try", fmt.Errorf("outer: %w", err))
			if kind := vsphere.KindOf(got); kind != test.kind {
				t.Errorf("%T as %s is %s, want %s", test.fault, name, kind, test.kind)
			}
			if vsphere.IsOutcomeUnknown(got) {
				t.Errorf("%T as %s: the server answered, and yet the outcome is unknown", test.fault, name)
			}
			if !strings.HasPrefix(got.Error(), "try: ") {
				t.Errorf("message %q", got)
			}
		}
	}
}

// wrappings are the ways in which govmomi returns a fault. A fault of a call is decoded as a value.
func wrappings(f types.BaseMethodFault) map[string]error {
	sf := &soap.Fault{String: "x"}
	sf.Detail.Fault = reflect.ValueOf(f).Elem().Interface()
	return map[string]error{
		"task error": taskError{&types.LocalizedMethodFault{Fault: f, LocalizedMessage: "m"}},
		"soap fault": soap.WrapSoapFault(sf),
		"vim fault":  soap.WrapVimFault(f),
	}
}

func TestFaultsNameWhatTheyAreAbout(t *testing.T) {
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-7"}
	for _, f := range []types.BaseMethodFault{
		&types.NoPermission{PrivilegeId: "P", Object: &ref}, &types.DuplicateName{Object: ref}, &types.ManagedObjectNotFound{Obj: ref},
	} {
		for name, err := range wrappings(f) {
			var e *vsphere.Error
			if !errors.As(translate("try", err), &e) || e.Object.Value != "vm-7" {
				t.Errorf("%T as %s names %+v", f, name, e.Object)
			}
			if e.Kind == vsphere.KindPermission && e.Privilege != "P" {
				t.Errorf("privilege is %q", e.Privilege)
			}
		}
	}
	causes := []types.LocalizedMethodFault{{LocalizedMessage: "host 1 has no memory"}}
	for _, hidden := range []types.BaseMethodFault{&types.NoCompatibleHost{Error: causes}, &types.GenericDrsFault{HostFaults: causes}} {
		if err := translate("try", taskError{&types.LocalizedMethodFault{Fault: hidden}}); !strings.Contains(err.Error(), "host 1 has no memory") {
			t.Errorf("the cause is hidden: %v", err)
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		unknown bool
	}{
		"reply lost":   {&url.Error{Op: "Post", URL: "https://vc/sdk", Err: io.EOF}, true},
		"deadline":     {context.DeadlineExceeded, true},
		"refused":      {&url.Error{Op: "Post", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, false},
		"no such name": {&url.Error{Op: "Post", Err: &net.DNSError{Name: "vc"}}, false},
		"read":         {&url.Error{Op: "Post", Err: &net.OpError{Op: "read", Err: errors.New("reset")}}, true},
	} {
		got := translate("try", test.err)
		if vsphere.KindOf(got) != vsphere.KindTransient || vsphere.IsOutcomeUnknown(got) != test.unknown {
			t.Errorf("%s: %v, unknown %v", name, vsphere.KindOf(got), vsphere.IsOutcomeUnknown(got))
		}
	}
	if e := translate("try", readOnlyError(io.EOF)); vsphere.IsOutcomeUnknown(e) {
		t.Error("a read leaves no outcome open")
	}
}

func TestAlreadyThere(t *testing.T) {
	on, off := types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStatePoweredOff
	for name, err := range wrappings(&types.InvalidPowerState{RequestedState: on, ExistingState: on}) {
		if !alreadyThere(vsphere.OpPowerOn, err) {
			t.Errorf("%s: not recognized", name)
		}
	}
	if alreadyThere(vsphere.OpPowerOn, taskError{&types.LocalizedMethodFault{Fault: &types.InvalidPowerState{RequestedState: on, ExistingState: off}}}) {
		t.Error("another state is taken for the wanted one")
	}
}

func TestAClonesAccountSaysNothingAndItsTemplateDoes(t *testing.T) {
	const user = `vsphere.local\operator`
	linux, ordinary := vsphere.VMRef("vm-linux"), vsphere.VMRef("vm-ordinary")
	s := New(Config{})
	s.cat.content = &content{templates: []templateEntry{{Template: vsphere.Template{Ref: linux}}}}
	before := types.TaskReasonUser{UserName: `VSPHERE.LOCAL\before-the-rotation`}
	for _, test := range []struct {
		name   string
		task   operations.Untracked
		reason any
		want   bool
	}{
		{"the clone of a predecessor with other credentials", operations.Untracked{Clone: true, Entity: linux}, before, true},
		{"a clone of what is no template here", operations.Untracked{Clone: true, Entity: ordinary}, before, false},
		{"a clone of an unknown object", operations.Untracked{Clone: true}, before, true},
		{"a clone by a schedule", operations.Untracked{Clone: true, Entity: linux}, types.TaskReasonSchedule{}, false},
		{"what another account does with its VMs", operations.Untracked{Entity: ordinary}, before, false},
		{"what our account does", operations.Untracked{Entity: ordinary}, types.TaskReasonUser{UserName: user}, true},
	} {
		if got := s.matters(test.task, test.reason, user); got != test.want {
			t.Errorf("%s: waited for is %v", test.name, got)
		}
	}
}

func TestMaybeOurs(t *testing.T) {
	for _, test := range []struct {
		reason any
		want   bool
	}{
		{types.TaskReasonUser{UserName: `VSPHERE.LOCAL\Operator`}, true},
		{types.TaskReasonUser{UserName: `VSPHERE.LOCAL\another`}, false},
		{&types.TaskReasonUser{UserName: "another@corp"}, false},
		{types.TaskReasonUser{UserName: "vcsim"}, true},
		{types.TaskReasonSchedule{}, false},
		{nil, true},
	} {
		if got := maybeOurs(test.reason, `vsphere.local\operator`); got != test.want {
			t.Errorf("%+v: %v", test.reason, got)
		}
	}
}

func TestStaleChangeIsAConflict(t *testing.T) {
	for name, err := range wrappings(&types.ConcurrentAccess{}) {
		for kind, want := range map[vsphere.OperationKind]vsphere.Kind{
			vsphere.OpMark: vsphere.KindConflict, vsphere.OpRelease: vsphere.KindConflict, vsphere.OpAdopt: vsphere.KindConflict, vsphere.OpPowerOn: vsphere.KindBusy,
		} {
			if got := vsphere.KindOf(translateFor(operations.Request{Kind: kind}, err)); got != want {
				t.Errorf("%s, %s: %s, want %s", kind, name, got, want)
			}
		}
	}
}
