package govmomi

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// hardware is what a clone inherits from a template or its snapshot.
type hardware struct {
	disks disks
	// root is the disk with the lowest key, or nil. It is shared and must not be changed.
	root *types.VirtualDisk
	// slots are the units beside it. They are shared and must not be changed.
	slots slots
	// cores per socket. Zero means that vCenter does not show the value, or chooses it at power-on.
	cores int32
	// fixedMAC is the label of the first network adapter with a manually set address, or "".
	fixedMAC string
	// tpm is true if the VM has a virtual TPM.
	tpm bool
}

func (e templateEntry) hardware(linked bool) hardware {
	if linked {
		return e.linked
	}
	return e.full
}

// hardwareOf reads the hardware of a template or snapshot.
func hardwareOf(o object) hardware {
	devices, known := devicesOf(o)
	h := hardware{disks: disks{known: known}, cores: int32(o.number(propCores))}
	for _, device := range devices {
		switch d := device.(type) {
		case *types.VirtualDisk:
			h.disks.keys = append(h.disks.keys, d.Key)
			if h.root == nil || d.Key < h.root.Key {
				h.root = d
			}
		case *types.VirtualTPM:
			h.tpm = true
		case types.BaseVirtualEthernetCard:
			card := d.GetVirtualEthernetCard()
			if h.fixedMAC == "" && strings.EqualFold(card.AddressType, string(types.VirtualEthernetCardMacTypeManual)) {
				h.fixedMAC = labelOf(card.DeviceInfo)
			}
		}
	}
	h.slots = slotsOf(devices, h.root)
	return h
}

func labelOf(info types.BaseDescription) string {
	if info == nil || info.GetDescription().Label == "" {
		return "a network adapter"
	}
	return untrusted.Name(info.GetDescription().Label)
}

// unfit returns the reason why no VM can be cloned from the hardware, or "". vCenter can ignore an edit of the address in a clone, so that all VMs
// would share it.
func (h hardware) unfit(of string) string {
	if h.fixedMAC == "" {
		return ""
	}
	return fmt.Sprintf("%s of %s has a MAC address that was set by hand, which all VMs would share; set it to automatic", h.fixedMAC, of)
}

// hardwareOfSnapshots reads the hardware of linked clones: a template can change after its snapshot.
func hardwareOfSnapshots(ctx context.Context, c *connection, templates []object) (map[vsphere.Ref]hardware, error) {
	var refs []vsphere.Ref
	for _, o := range templates {
		if ref := o.refOf(propSnapshot); !ref.IsZero() {
			refs = append(refs, ref)
		}
	}
	objects, err := existing(ctx, c.client, refs, types.PropertySpec{Type: "VirtualMachineSnapshot", PathSet: []string{propDevices, propCores}})
	if err != nil {
		return nil, err
	}
	out := map[vsphere.Ref]hardware{}
	for _, o := range objects {
		out[o.ref] = hardwareOf(o)
	}
	return out, nil
}

// coresPerSocket returns the value to request so that a VM can have this many CPUs, or nil if the template's value is right. A wanted value is requested also if the template has
// it: vCenter 8 can ignore the template's and choose another at each start. wanted is zero if any value is right.
func (h hardware) coresPerSocket(cpus, wanted int32) *int32 {
	cores := cmp.Or(wanted, vsphere.FittingCores(cpus, h.cores))
	if wanted == 0 && cores == h.cores {
		return nil
	}
	return &cores
}
