package sim

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Disabled is a key of a VM's extraConfig with the methods that a backup or a migration has disabled, as "ReconfigVM_Task,PowerOffVM_Task". The simulator does not
// have the calls by which these products do that.
const Disabled = "SIM.disabledMethod"

// Disable disables methods of a VM, in place of those that were disabled before.
func (o *Operator) Disable(ctx context.Context, vmPath string, methods ...string) error {
	return o.Set(ctx, vmPath, map[string]string{Disabled: strings.Join(methods, ",")})
}

// checkDisabled refuses what has been disabled. That does not keep anybody from enabling it again.
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

// showDisabled makes disabledMethod what extraConfig says, if that was written. The caller holds the VM.
func showDisabled(ctx *simulator.Context, vm *simulator.VirtualMachine, written []types.BaseOptionValue) {
	if slices.ContainsFunc(written, isDisabled) {
		ctx.Update(vm, []types.PropertyChange{{Name: "disabledMethod", Val: disabledOf(vm)}})
	}
}
