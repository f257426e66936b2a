package sim

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Disabled is a key of a VM's extraConfig. Its value lists the methods that a backup or a migration disabled, as "ReconfigVM_Task,PowerOffVM_Task". The
// simulator lacks the calls with which these products disable methods.
const Disabled = "SIM.disabledMethod"

// Disable disables methods of a VM. Methods that were disabled before are enabled.
func (o *Operator) Disable(ctx context.Context, vmPath string, methods ...string) error {
	return o.Set(ctx, vmPath, map[string]string{Disabled: strings.Join(methods, ",")})
}

// checkDisabled refuses disabled methods. They can be enabled again despite that.
func checkDisabled(ctx *simulator.Context, m *simulator.Method) types.BaseMethodFault {
	vm, ok := ctx.Map.Get(m.This).(*simulator.VirtualMachine)
	if !ok {
		return nil
	}
	if req, ok := m.Body.(*types.ReconfigVM_Task); ok && slices.ContainsFunc(req.Spec.ExtraConfig, isDisabled) {
		return nil
	}
	var refused bool
	ctx.WithLock(vm, func() { refused = slices.Contains(disabledOf(vm), reflect.TypeOf(m.Body).Elem().Name()) })
	if refused {
		return &types.MethodDisabled{}
	}
	return nil
}

func isDisabled(o types.BaseOptionValue) bool { return o.GetOptionValue().Key == Disabled }

func disabledOf(vm *simulator.VirtualMachine) []string {
	if vm.Config == nil {
		return nil
	}
	return strings.FieldsFunc(option(vm, Disabled), func(r rune) bool { return r == ',' })
}

// showDisabled sets disabledMethod from extraConfig, if written contains the key. The caller holds the VM.
func showDisabled(ctx *simulator.Context, vm *simulator.VirtualMachine, written []types.BaseOptionValue) {
	if slices.ContainsFunc(written, isDisabled) {
		ctx.Update(vm, []types.PropertyChange{{Name: "disabledMethod", Val: disabledOf(vm)}})
	}
}
