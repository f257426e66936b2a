package govmomi

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"

	govc "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	needs "github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// mostTemplates is the maximum number of examined templates.
	mostTemplates = 200

	propHardwareVersion = "config.version"
	propToolsStatus     = "guest.toolsVersionStatus2"
	propKeyID           = "config.keyId"
	propCPUAllocation   = "config.cpuAllocation"
	propMemAllocation   = "config.memoryAllocation"
	propMemoryLock      = "config.memoryReservationLockedToMax"
	propLatency         = "config.latencySensitivity"
	propExtra           = "config.extraConfig"
	propStorage         = "summary.storage"
)

var lintProperties = []string{
	propCPU, propMemory, propCores, propHardwareVersion, propToolsStatus, propKeyID, propCPUAllocation, propMemAllocation, propMemoryLock, propLatency,
	propDevices, propExtra, propStorage, propVApp, propHost,
}

// readTemplates reads what clones of the templates would inherit.
func (s *surveyor) readTemplates(ctx context.Context) {
	s.read = s.read[:min(len(s.read), mostTemplates)]
	refs := make([]vsphere.Ref, 0, len(s.read))
	for _, t := range s.read {
		refs = append(refs, t.Ref)
	}
	objects, err := existing(ctx, s.conn.client, refs, types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: lintProperties})
	if err != nil {
		s.facts.Places.Problem = problemOf(translate("read the templates", err))
		return
	}
	for _, t := range s.read {
		for _, o := range objects {
			if o.ref == t.Ref {
				s.facts.Templates = append(s.facts.Templates, s.lint(t, o))
			}
		}
	}
}

func (s *surveyor) lint(entry templateEntry, o object) survey.Template {
	got := s.server.cat.get()
	t := survey.Template{
		Object: survey.Object{Kind: needs.Template, Path: entry.Path, Ref: entry.Ref.String()},
		CPUs:   o.number(propCPU), CoresPerSocket: o.number(propCores), MemoryMiB: o.number(propMemory),
		VApp: entry.vApp, TPM: entry.full.tpm, Encrypted: o.has(propKeyID), Snapshot: entry.HasSnapshot,
		HostAway: got.hosts[o.refOf(propHost)], LocksMemory: o.yes(propMemoryLock), Out: s.outOfReach(entry),
		ToolsStatus: o.text(propToolsStatus),
	}
	t.HardwareVersion, _ = strconv.Atoi(strings.TrimPrefix(o.text(propHardwareVersion), "vmx-"))
	t.ReservedMHz, t.ReservedMiB = reservation(o, propCPUAllocation), reservation(o, propMemAllocation)
	if latency, ok := o.values[propLatency].(types.LatencySensitivity); ok {
		t.Latency = string(latency.Level)
	}
	if storage, ok := o.values[propStorage].(types.VirtualMachineStorageSummary); ok {
		t.SizeBytes = storage.Committed
	}
	if extra, ok := o.values[propExtra].(types.ArrayOfOptionValue); ok {
		for _, option := range extra.OptionValue {
			kv := option.GetOptionValue()
			value, _ := kv.Value.(string)
			t.KeepsUserData = t.KeepsUserData || kv.Key == vsphere.GuestUserData && value != ""
			t.KeepsStamp = t.KeepsStamp || kv.Key == inventory.KeyOwner && value != ""
		}
	}
	devices, _ := devicesOf(o)
	for _, device := range devices {
		lintDevice(&t, devices, device)
	}
	return t
}

func reservation(o object, property string) int64 {
	allocation, ok := o.values[property].(types.ResourceAllocationInfo)
	if !ok || allocation.Reservation == nil {
		return 0
	}
	return *allocation.Reservation
}

func lintDevice(t *survey.Template, devices govc.VirtualDeviceList, device types.BaseVirtualDevice) {
	switch d := device.(type) {
	case *types.VirtualDisk:
		disk := survey.Disk{Key: d.Key, FirstClass: d.VDiskId != nil && d.VDiskId.Id != "", Persistent: true}
		if controller := devices.FindByKey(d.ControllerKey); controller != nil {
			disk.Controller = typeName(controller)
		}
		if backing, ok := d.Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok {
			disk.Persistent = backing.DiskMode == "" || backing.DiskMode == string(types.VirtualDiskModePersistent)
		}
		t.Disks = append(t.Disks, disk)
	case *types.VirtualCdrom:
		if _, ok := d.Backing.(*types.VirtualCdromIsoBackingInfo); ok {
			t.CDROM = true
		}
	case *types.VirtualPCIPassthrough:
		t.Passthrough = true
	case types.BaseVirtualEthernetCard:
		card := d.GetVirtualEthernetCard()
		t.Adapters = append(t.Adapters, survey.Adapter{
			Label: labelOf(card.DeviceInfo), Type: typeName(device),
			ManualMAC:      strings.EqualFold(card.AddressType, string(types.VirtualEthernetCardMacTypeManual)),
			StartConnected: card.Connectable == nil || card.Connectable.StartConnected,
		})
	}
}

func typeName(device types.BaseVirtualDevice) string { return reflect.TypeOf(device).Elem().Name() }

// outOfReach returns a datastore of a template that the hosts of the resource pool do not reach. It returns "" if they
// reach all, or if that is unknown.
func (s *surveyor) outOfReach(t templateEntry) string {
	got := s.server.cat.get()
	pool, err := choosePool(s.o.ResourcePool, got.pools)
	if err != nil {
		return ""
	}
	reached := got.computeOf(pool.compute).Datastores
	for _, path := range t.Datastores {
		if len(reached) > 0 && !slices.Contains(reached, path) {
			return path
		}
	}
	return ""
}
