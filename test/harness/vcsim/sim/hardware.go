package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"
)

// manual is the type of a MAC address that a user set.
const manual = string(types.VirtualEthernetCardMacTypeManual)

// hasTPM reports whether a VM has a virtual TPM. Its files are encrypted then.
func hasTPM(vm *simulator.VirtualMachine) bool {
	return len(object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualTPM)(nil))) > 0
}

// checkTPM refuses a policy that this version of the API lacks.
func checkTPM(ctx *simulator.Context, req *types.CloneVM_Task) types.BaseMethodFault {
	about := ctx.Map.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.About
	if req.Spec.TpmProvisionPolicy != "" && strings.HasPrefix(about.ApiVersion, "7.") {
		return &types.InvalidRequest{}
	}
	return nil
}

// ownDevices gives a clone a new TPM if the request asks for one. It assigns MAC addresses as vCenter does: an address that a user set stays, whatever the
// request, and all others are new. The caller holds the clone and its source.
func ownDevices(source, clone *simulator.VirtualMachine, req *types.CloneVM_Task) {
	has := object.VirtualDeviceList(source.Config.Hardware.Device)
	for _, device := range clone.Config.Hardware.Device {
		switch d := device.(type) {
		case *types.VirtualTPM:
			if req.Spec.TpmProvisionPolicy == string(types.VirtualMachineCloneSpecTpmProvisionPolicyReplace) {
				d.EndorsementKeyCertificateSigningRequest = identity()
			}
		case types.BaseVirtualEthernetCard:
			card := d.GetVirtualEthernetCard()
			from, ok := has.FindByKey(card.Key).(types.BaseVirtualEthernetCard)
			if !ok {
				continue
			}
			switch was := from.GetVirtualEthernetCard(); {
			case was.AddressType == manual:
				card.AddressType, card.MacAddress = manual, was.MacAddress
			case card.MacAddress == was.MacAddress:
				id := uuid.New()
				card.MacAddress = fmt.Sprintf("00:50:56:%02x:%02x:%02x", id[0]&0x3f, id[1], id[2])
			}
		}
	}
}

// identity returns the identity of a new TPM.
func identity() [][]byte { return [][]byte{[]byte(uuid.NewString())} }

// changeTemplate reconfigures a template.
func (o *Operator) changeTemplate(ctx context.Context, path string, change func(object.VirtualDeviceList, *types.VirtualMachineConfigSpec)) error {
	if err := o.MarkAsVM(ctx, path); err != nil {
		return err
	}
	vm, devices, err := o.devices(ctx, path)
	if err != nil {
		return err
	}
	var spec types.VirtualMachineConfigSpec
	change(devices, &spec)
	task, err := vm.Reconfigure(ctx, spec)
	if err := wait(ctx, "reconfigure "+path, task, err); err != nil {
		return err
	}
	return o.MarkAsTemplate(ctx, path)
}

// SetSockets sets the CPUs and the cores per socket of a template.
func (o *Operator) SetSockets(ctx context.Context, path string, cpus, cores int32) error {
	return o.changeTemplate(ctx, path, func(_ object.VirtualDeviceList, spec *types.VirtualMachineConfigSpec) {
		spec.NumCPUs, spec.NumCoresPerSocket = cpus, &cores
	})
}

// SetMAC sets the address of a template's first network adapter, as a user does.
func (o *Operator) SetMAC(ctx context.Context, path, mac string) error {
	return o.changeTemplate(ctx, path, func(devices object.VirtualDeviceList, spec *types.VirtualMachineConfigSpec) {
		card := devices.SelectByType((*types.VirtualEthernetCard)(nil))[0]
		nic := card.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		nic.AddressType, nic.MacAddress = manual, mac
		spec.DeviceChange = []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: card}}
	})
}

// AddTPM adds a virtual TPM to a template.
func (o *Operator) AddTPM(ctx context.Context, path string) error {
	return o.changeTemplate(ctx, path, func(_ object.VirtualDeviceList, spec *types.VirtualMachineConfigSpec) {
		tpm := &types.VirtualTPM{EndorsementKeyCertificateSigningRequest: identity()}
		tpm.Key = -1
		spec.DeviceChange = []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: tpm}}
	})
}

// TPM returns the identity of a VM's virtual TPM, or "" if it has none.
func (o *Operator) TPM(ctx context.Context, path string) (string, error) {
	_, devices, err := o.devices(ctx, path)
	if err != nil {
		return "", err
	}
	for _, device := range devices {
		if tpm, ok := device.(*types.VirtualTPM); ok && len(tpm.EndorsementKeyCertificateSigningRequest) > 0 {
			return string(tpm.EndorsementKeyCertificateSigningRequest[0]), nil
		}
	}
	return "", nil
}
