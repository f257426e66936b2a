package govmomi

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var (
	errOtherInstallation = errors.New("the stamp names another installation")
	errNoSnapshot        = errors.New("the template has no snapshot, which a linked clone needs; " +
		"take one, or use full clones")
	errNotCatalogued = errors.New("the template is not among those that were read last, for example while a user converts it to a virtual machine and back; it is read again")
	errLinkedDisk    = errors.New("vCenter does not grow the disk of a linked clone; use full clones")
	errNoNIC         = errors.New("the template has no network adapter to connect to the wanted network")
)

// nicCache is a template's first network adapter at a change version.
type nicCache struct {
	changeVersion string
	device        types.BaseVirtualDevice
}

// Clone submits a clone that stays powered off: see vsphere.Server.
func (s *Server) Clone(ctx context.Context, req vsphere.CloneRequest) error {
	r := operations.Request{
		Key:  operations.Key{Group: req.Stamp.Key(), Ordinal: req.Stamp.Ordinal},
		Kind: vsphere.OpClone, Template: req.Template.Ref, Name: req.Name, UUID: req.UUID, Stamp: req.Stamp,
	}
	spec := func(kind vsphere.Kind, cause error) error {
		return &vsphere.Error{Kind: kind, Op: "clone " + req.Name + " from " + req.Template.Name, Err: cause}
	}
	extra, err := inventory.EncodeStamp(req.Stamp)
	if err != nil {
		return spec(vsphere.KindSpec, err)
	}
	extra = append(extra, inventory.EncodeRootDisk(req.RootDiskGiB))
	guest, err := req.GuestInfo()
	if err != nil {
		return spec(vsphere.KindSpec, err)
	}
	for _, key := range slices.Sorted(maps.Keys(guest)) {
		extra = append(extra, inventory.KV{Key: key, Value: guest[key]})
	}
	if req.Stamp.Installation != s.cfg.Installation {
		return spec(vsphere.KindForeign, errOtherInstallation)
	}
	if kind, cause := s.unusable(req.Folder); cause != nil {
		return spec(kind, cause)
	}
	template, ok := s.entry(req.Template.Ref)
	switch {
	case !ok: // Its disks are unknown, and later could not be distinguished from foreign ones.
		s.lookFor(kindTemplate, req.Template.Path)
		return spec(vsphere.KindTransient, errNotCatalogued)
	case req.Linked && template.snapshot.IsZero():
		return spec(vsphere.KindSpec, errNoSnapshot)
	case req.Linked && req.RootDiskGiB != 0:
		return spec(vsphere.KindSpec, errLinkedDisk)
	case template.hardware(req.Linked).fixedMAC != "":
		return spec(vsphere.KindSpec, errors.New(template.hardware(req.Linked).unfit("the template")))
	}
	return s.submit(ctx, r, req.Template.Host, func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		if err := s.hostsReady(ctx, c, req); err != nil {
			return types.ManagedObjectReference{}, err
		}
		clone, err := s.cloneSpec(ctx, c, req, template, extra)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		task, err := sendClone(ctx, c, req, clone)
		if clone.Config.Annotation != "" && lacks(err, vsphere.PrivilegeNotes) {
			s.withoutNotes()
			clone.Config.Annotation = ""
			return sendClone(ctx, c, req, clone)
		}
		return task, err
	})
}

func sendClone(ctx context.Context, c *connection, req vsphere.CloneRequest, spec types.VirtualMachineCloneSpec) (types.ManagedObjectReference, error) {
	resp, err := methods.CloneVM_Task(ctx, c.client, &types.CloneVM_Task{
		This: toRef(req.Template.Ref), Folder: toRef(req.Folder), Name: req.Name, Spec: spec,
	})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return resp.Returnval, nil
}

func (s *Server) cloneSpec(ctx context.Context, c *connection, req vsphere.CloneRequest, template templateEntry, extra []inventory.KV) (types.VirtualMachineCloneSpec, error) {
	has := template.hardware(req.Linked)
	spec := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{
			Pool:      refOrNil(req.Placement.ResourcePool),
			Datastore: refOrNil(req.Placement.Datastore),
		},
		Config: &types.VirtualMachineConfigSpec{
			NumCPUs: req.CPU, NumCoresPerSocket: has.coresPerSocket(req.CPU, req.CoresPerSocket), MemoryMB: req.MemoryMiB, InstanceUuid: req.UUID,
			ExtraConfig: extraConfig(append(extra, has.disks.encoded())),
		},
	}
	if has.tpm && c.atLeast(8, 0, 0, 1) {
		// Otherwise all VMs share the keys and secrets of one TPM.
		spec.TpmProvisionPolicy = string(types.VirtualMachineCloneSpecTpmProvisionPolicyReplace)
	}
	if s.writesNotes() {
		spec.Config.Annotation = req.Note
	}
	if template.vApp && req.ForCloudInit() {
		// If a VM has vApp properties, older versions of cloud-init read them instead of guestinfo.
		spec.Config.VAppConfigRemoved = types.NewBool(true)
	}
	if req.Linked {
		spec.Snapshot = refOrNil(template.snapshot)
		spec.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
	}
	if req.RootDiskGiB != 0 {
		change, err := has.cloneDisk(req.RootDiskGiB)
		if err != nil {
			return spec, &vsphere.Error{Kind: vsphere.KindSpec, Op: "clone " + req.Name + " from " + req.Template.Name, Err: err}
		}
		if change != nil {
			spec.Config.DeviceChange = []types.BaseVirtualDeviceConfigSpec{change}
			// A disk with a parent cannot grow, and that of a template with a snapshot has one.
			spec.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndDisallowSharing)
		}
	}
	changes, entries, err := has.createDisks(req.DataDisks)
	if err != nil {
		return spec, &vsphere.Error{Kind: vsphere.KindSpec, Op: "clone " + req.Name + " from " + req.Template.Name, Err: err}
	}
	spec.Config.DeviceChange = append(spec.Config.DeviceChange, changes...)
	spec.Config.ExtraConfig = append(spec.Config.ExtraConfig, extraConfig(entries)...)
	if !req.Placement.Network.IsZero() {
		change, err := s.connectNIC(ctx, c, template, req.Placement.Network)
		if err != nil {
			return spec, readOnlyError(err)
		}
		spec.Location.DeviceChange = []types.BaseVirtualDeviceConfigSpec{change}
	}
	return spec, nil
}

func extraConfig(kvs []inventory.KV) []types.BaseOptionValue {
	out := make([]types.BaseOptionValue, len(kvs))
	for i, kv := range kvs {
		out[i] = &types.OptionValue{Key: kv.Key, Value: kv.Value}
	}
	return out
}

// entry returns the catalog's entry of a template.
func (s *Server) entry(ref vsphere.Ref) (entry templateEntry, ok bool) {
	if got := s.cat.get(); got != nil {
		for _, t := range got.templates {
			if t.Ref == ref {
				return t, true
			}
		}
	}
	return templateEntry{}, false
}

// connectNIC returns the edit that connects the template's first network adapter to a network.
func (s *Server) connectNIC(ctx context.Context, c *connection, template templateEntry, network vsphere.Ref) (*types.VirtualDeviceConfigSpec, error) {
	device, err := s.nic(ctx, c, template)
	if err != nil {
		return nil, err
	}
	backing, err := s.backing(ctx, c, network)
	if err != nil {
		return nil, err
	}
	// The cached device is shared, so a copy is changed. The concrete type does not matter for an edit by key, but vCenter
	// requires the same type, so copyDevice keeps it.
	edited := copyDevice(device)
	target := edited.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
	target.Backing = backing
	// A copied MAC address would be a duplicate on the network.
	target.MacAddress = ""
	target.AddressType = string(types.VirtualEthernetCardMacTypeGenerated)
	return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: edited}, nil
}

func (s *Server) nic(ctx context.Context, c *connection, template templateEntry) (types.BaseVirtualDevice, error) {
	s.mu.Lock()
	cached, ok := s.nics[template.Ref]
	s.mu.Unlock()
	if ok && cached.changeVersion == template.changeVersion {
		return cached.device, nil
	}
	o, err := exact(ctx, c.client, template.Ref, propDevices)
	if err != nil {
		return nil, err
	}
	devices, _ := o.values[propDevices].(types.ArrayOfVirtualDevice)
	for _, d := range devices.VirtualDevice {
		if _, ok := d.(types.BaseVirtualEthernetCard); ok {
			s.mu.Lock()
			s.nics[template.Ref] = nicCache{template.changeVersion, d}
			s.mu.Unlock()
			return d, nil
		}
	}
	return nil, &vsphere.Error{Kind: vsphere.KindSpec, Op: "read the template's devices", Object: template.Ref, Err: errNoNIC}
}
