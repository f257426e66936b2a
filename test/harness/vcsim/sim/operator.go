package sim

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vmware/govmomi/vim25"
)

// UserAgent of an Operator. It lets a Proxy distinguish it from the program under test.
const UserAgent = "behind-the-back"

// Operator is a user with a separate login, who changes VMs without the program under test.
type Operator struct {
	client *govmomi.Client
	finder *find.Finder
}

// Operator logs in as a user with all privileges.
func (s *Simulator) Operator(ctx context.Context) (*Operator, error) {
	return NewOperator(ctx, s.URL, s.opts.AdminUsername, s.opts.AdminPassword)
}

// NewOperator logs in at a simulator's URL. It trusts any certificate.
func NewOperator(ctx context.Context, rawURL, username, password string) (*Operator, error) {
	u, err := soap.ParseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("parse the simulator's URL: %w", err)
	}
	sc := soap.NewClient(u, true)
	sc.UserAgent = UserAgent
	vc, err := vim25.NewClient(ctx, sc)
	if err != nil {
		return nil, fmt.Errorf("connect to the simulator: %w", err)
	}
	c := &govmomi.Client{Client: vc, SessionManager: session.NewManager(vc)}
	if err := c.Login(ctx, url.UserPassword(username, password)); err != nil {
		return nil, fmt.Errorf("log in to the simulator: %w", err)
	}
	return &Operator{client: c, finder: find.NewFinder(vc)}, nil
}

// Close logs out.
func (o *Operator) Close() {
	_ = o.client.Logout(context.Background())
	o.client.CloseIdleConnections()
}

// Client returns the operator's client, for calls without a helper.
func (o *Operator) Client() *vim25.Client { return o.client.Client }

// VM is the state of a VM in the simulator.
type VM struct {
	Ref  types.ManagedObjectReference
	Path string
	On   bool
	// Tools is true while VMware Tools run.
	Tools bool
	// Heartbeat is true while it is green. IP is the guest's address, if known.
	Heartbeat bool
	IP        string
	// BootTime is the time of power-on, or nil while the VM is off.
	BootTime *time.Time
	// Template is true for a VM that is marked as template.
	Template bool
	CPU      int32
	MemoryMB int32
	UUID     string
	// Extra is the VM's extraConfig.
	Extra map[string]string
}

// VMs lists all VMs by path. If VMs are created or deleted between its two calls, it begins again, until ctx ends.
func (o *Operator) VMs(ctx context.Context) (map[string]VM, error) {
	for {
		vms, err := o.vms(ctx)
		if !fault.Is(err, &types.ManagedObjectNotFound{}) || ctx.Err() != nil {
			return vms, err
		}
	}
}

func (o *Operator) vms(ctx context.Context) (map[string]VM, error) {
	objects, err := o.all(ctx, "VirtualMachine", "Folder", "Datacenter")
	if err != nil {
		return nil, err
	}
	parents, names := map[types.ManagedObjectReference]types.ManagedObjectReference{}, map[types.ManagedObjectReference]string{}
	for _, e := range objects {
		for _, p := range e.PropSet {
			switch v := p.Val.(type) {
			case string:
				if p.Name == "name" {
					names[e.Obj] = v
				}
			case types.ManagedObjectReference:
				parents[e.Obj] = v
			}
		}
	}
	pathOf := func(ref types.ManagedObjectReference) string {
		var parts []string
		for names[ref] != "" {
			parts = append([]string{names[ref]}, parts...)
			ref = parents[ref]
		}
		return "/" + strings.Join(parts, "/")
	}
	var refs []types.ManagedObjectReference
	for _, e := range objects {
		if e.Obj.Type == "VirtualMachine" {
			refs = append(refs, e.Obj)
		}
	}
	out := map[string]VM{}
	if len(refs) == 0 {
		return out, nil
	}
	spec := types.PropertyFilterSpec{
		PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"runtime.powerState", "config", "guest.toolsRunningStatus", "guest.ipAddress", "guestHeartbeatStatus", "runtime.bootTime"}}},
		// Omit VMs that were deleted in between. On a busy machine, a restart of the listing might never end.
		ReportMissingObjectsInResults: types.NewBool(true),
	}
	for _, ref := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	res, err := property.DefaultCollector(o.Client()).RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{spec}})
	if err != nil {
		return nil, fmt.Errorf("read VMs: %w", err)
	}
	var vms []mo.VirtualMachine
	if err := mo.LoadObjectContent(res.Returnval, &vms); err != nil {
		return nil, fmt.Errorf("read VMs: %w", err)
	}
	for i := range vms {
		vm := VM{Ref: vms[i].Self, Path: pathOf(vms[i].Self), Extra: map[string]string{},
			On:        vms[i].Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn,
			Heartbeat: vms[i].GuestHeartbeatStatus == types.ManagedEntityStatusGreen, BootTime: vms[i].Runtime.BootTime}
		if guest := vms[i].Guest; guest != nil {
			vm.Tools, vm.IP = guest.ToolsRunningStatus == toolsRunning, guest.IpAddress
		}
		if c := vms[i].Config; c != nil {
			vm.Template, vm.CPU, vm.MemoryMB, vm.UUID = c.Template, c.Hardware.NumCPU, c.Hardware.MemoryMB, c.InstanceUuid
			for _, kv := range c.ExtraConfig {
				vm.Extra[kv.GetOptionValue().Key], _ = kv.GetOptionValue().Value.(string)
			}
		}
		out[vm.Path] = vm
	}
	return out, nil
}

func (o *Operator) all(ctx context.Context, kinds ...string) ([]types.ObjectContent, error) {
	v, err := view.NewManager(o.Client()).CreateContainerView(ctx, o.Client().ServiceContent.RootFolder, kinds, true)
	if err != nil {
		return nil, fmt.Errorf("make a view: %w", err)
	}
	defer func() { _ = v.Destroy(ctx) }()
	var out []types.ObjectContent
	if err := v.Retrieve(ctx, kinds, []string{"name", "parent"}, &out); err != nil {
		return nil, fmt.Errorf("list everything: %w", err)
	}
	return out, nil
}

func (o *Operator) vm(ctx context.Context, vmPath string) (*object.VirtualMachine, error) {
	vm, err := o.finder.VirtualMachine(ctx, vmPath)
	if err != nil {
		return nil, fmt.Errorf("find VM %s: %w", vmPath, err)
	}
	return vm, nil
}

func (o *Operator) folder(ctx context.Context, folderPath string) (*object.Folder, error) {
	f, err := o.finder.Folder(ctx, folderPath)
	if err != nil {
		return nil, fmt.Errorf("find folder %s: %w", folderPath, err)
	}
	return f, nil
}

func wait(ctx context.Context, what string, task *object.Task, err error) error {
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// change runs a task on a VM and waits for it.
func (o *Operator) change(ctx context.Context, what, vmPath string, start func(*object.VirtualMachine) (*object.Task, error)) error {
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return err
	}
	task, err := start(vm)
	return wait(ctx, what+" "+vmPath, task, err)
}

// PowerOff powers a VM off.
func (o *Operator) PowerOff(ctx context.Context, vmPath string) error {
	return o.change(ctx, "power off", vmPath, func(vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOff(ctx) })
}

// PowerOn powers a VM on.
func (o *Operator) PowerOn(ctx context.Context, vmPath string) error {
	return o.change(ctx, "power on", vmPath, func(vm *object.VirtualMachine) (*object.Task, error) { return vm.PowerOn(ctx) })
}

// destroyAttempts limits the attempts of Destroy, if the VM is powered on again in between.
const destroyAttempts = 20

// Destroy destroys a VM, whatever its power state. The operator under test powers the VM on again within milliseconds, so it can run again
// before it is destroyed. Destroy then starts over.
func (o *Operator) Destroy(ctx context.Context, vmPath string) error {
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return err
	}
	for range destroyAttempts {
		task, offErr := vm.PowerOff(ctx)
		if err := wait(ctx, "power off "+vmPath, task, offErr); err != nil && !fault.Is(err, &types.InvalidPowerState{}) {
			return err
		}
		task, destroyErr := vm.Destroy(ctx)
		if err = wait(ctx, "destroy "+vmPath, task, destroyErr); !fault.Is(err, &types.InvalidPowerState{}) {
			return err
		}
	}
	return err
}

// CreateVM creates an ordinary, powered-off VM without a stamp.
func (o *Operator) CreateVM(ctx context.Context, folderPath, name string) (types.ManagedObjectReference, error) {
	var ref types.ManagedObjectReference
	f, err := o.folder(ctx, folderPath)
	if err != nil {
		return ref, err
	}
	pool, err := o.finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	if err != nil {
		return ref, fmt.Errorf("find the resource pool: %w", err)
	}
	spec := types.VirtualMachineConfigSpec{
		Name: name, NumCPUs: 1, MemoryMB: 32, GuestId: string(types.VirtualMachineGuestOsIdentifierOtherGuest),
		Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"},
	}
	network, err := o.finder.Network(ctx, "/DC0/network/VM Network")
	if err != nil {
		return ref, fmt.Errorf("find the network: %w", err)
	}
	backing, err := network.EthernetCardBackingInfo(ctx)
	if err != nil {
		return ref, fmt.Errorf("read the network: %w", err)
	}
	card, err := object.EthernetCardTypes().CreateEthernetCard("vmxnet3", backing)
	if err != nil {
		return ref, fmt.Errorf("make a network adapter: %w", err)
	}
	spec.DeviceChange = []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
		Operation: types.VirtualDeviceConfigSpecOperationAdd, Device: card,
	}}
	task, err := f.CreateVM(ctx, spec, pool, nil)
	if err := wait(ctx, "create VM "+path.Join(folderPath, name), task, err); err != nil {
		return ref, err
	}
	vm, err := o.vm(ctx, path.Join(folderPath, name))
	if err != nil {
		return ref, err
	}
	return vm.Reference(), nil
}

// AddTemplate creates a VM with a snapshot and marks it as template.
func (o *Operator) AddTemplate(ctx context.Context, folderPath, name string) error {
	if _, err := o.CreateVM(ctx, folderPath, name); err != nil {
		return err
	}
	if err := o.Snapshot(ctx, path.Join(folderPath, name)); err != nil {
		return err
	}
	return o.MarkAsTemplate(ctx, path.Join(folderPath, name))
}

// Snapshot takes a snapshot of a VM.
func (o *Operator) Snapshot(ctx context.Context, vmPath string) error {
	return o.change(ctx, "take a snapshot of", vmPath, func(vm *object.VirtualMachine) (*object.Task, error) {
		return vm.CreateSnapshot(ctx, "base", "", false, false)
	})
}

// Copy clones a VM with its whole extraConfig, including a stamp, as a user does.
func (o *Operator) Copy(ctx context.Context, vmPath, folderPath, name string) (types.ManagedObjectReference, error) {
	var ref types.ManagedObjectReference
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return ref, err
	}
	f, err := o.folder(ctx, folderPath)
	if err != nil {
		return ref, err
	}
	pool, err := o.finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	if err != nil {
		return ref, fmt.Errorf("find the resource pool: %w", err)
	}
	poolRef := pool.Reference()
	task, err := vm.Clone(ctx, f, name, types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &poolRef},
	})
	if err := wait(ctx, "copy "+vmPath, task, err); err != nil {
		return ref, err
	}
	made, err := o.vm(ctx, path.Join(folderPath, name))
	if err != nil {
		return ref, err
	}
	return made.Reference(), nil
}

// StartClone starts a clone from a template and does not wait for it.
func (o *Operator) StartClone(ctx context.Context, templatePath, folderPath, name string, extra map[string]string) (*object.Task, error) {
	vm, err := o.vm(ctx, templatePath)
	if err != nil {
		return nil, err
	}
	f, err := o.folder(ctx, folderPath)
	if err != nil {
		return nil, err
	}
	pool, err := o.finder.ResourcePool(ctx, "/DC0/host/DC0_C0/Resources")
	if err != nil {
		return nil, fmt.Errorf("find the resource pool: %w", err)
	}
	poolRef := pool.Reference()
	spec := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{Pool: &poolRef}, Config: &types.VirtualMachineConfigSpec{},
	}
	for key, value := range extra {
		spec.Config.ExtraConfig = append(spec.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	task, err := vm.Clone(ctx, f, name, spec)
	if err != nil {
		return nil, fmt.Errorf("clone %s: %w", templatePath, err)
	}
	return task, nil
}

// Rename renames a VM.
func (o *Operator) Rename(ctx context.Context, vmPath, name string) error {
	return o.change(ctx, "rename", vmPath, func(vm *object.VirtualMachine) (*object.Task, error) { return vm.Rename(ctx, name) })
}

// Move moves a VM into another folder.
func (o *Operator) Move(ctx context.Context, vmPath, folderPath string) error {
	vm, err := o.vm(ctx, vmPath)
	if err != nil {
		return err
	}
	return o.moveInto(ctx, vmPath, vm.Reference(), folderPath)
}

// FolderRef returns the reference of a folder.
func (o *Operator) FolderRef(ctx context.Context, folderPath string) (types.ManagedObjectReference, error) {
	f, err := o.folder(ctx, folderPath)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return f.Reference(), nil
}

// RenameFolder renames a folder.
func (o *Operator) RenameFolder(ctx context.Context, folderPath, name string) error {
	f, err := o.folder(ctx, folderPath)
	if err != nil {
		return err
	}
	task, err := f.Rename(ctx, name)
	return wait(ctx, "rename "+folderPath, task, err)
}

// RenameDatacenter renames a datacenter.
func (o *Operator) RenameDatacenter(ctx context.Context, path, name string) error {
	dc, err := o.finder.Datacenter(ctx, path)
	if err != nil {
		return fmt.Errorf("find datacenter %s: %w", path, err)
	}
	task, err := dc.Rename(ctx, name)
	return wait(ctx, "rename "+path, task, err)
}

// CreateDatacenter creates an empty datacenter.
func (o *Operator) CreateDatacenter(ctx context.Context, name string) error {
	if _, err := object.NewRootFolder(o.client.Client).CreateDatacenter(ctx, name); err != nil {
		return fmt.Errorf("create datacenter %s: %w", name, err)
	}
	return nil
}

// MoveFolder moves a folder with its content into another folder.
func (o *Operator) MoveFolder(ctx context.Context, from, into string) error {
	f, err := o.folder(ctx, from)
	if err != nil {
		return err
	}
	return o.moveInto(ctx, from, f.Reference(), into)
}

func (o *Operator) moveInto(ctx context.Context, what string, ref types.ManagedObjectReference, into string) error {
	target, err := o.folder(ctx, into)
	if err != nil {
		return err
	}
	task, err := target.MoveInto(ctx, []types.ManagedObjectReference{ref})
	return wait(ctx, "move "+what, task, err)
}

// Set writes extraConfig keys of a VM. The simulator reads guest state from keys such as SET.guest.ipAddress.
func (o *Operator) Set(ctx context.Context, vmPath string, extra map[string]string) error {
	var spec types.VirtualMachineConfigSpec
	for key, value := range extra {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	return o.change(ctx, "reconfigure", vmPath, func(vm *object.VirtualMachine) (*object.Task, error) { return vm.Reconfigure(ctx, spec) })
}

func (o *Operator) sessions(ctx context.Context) ([]types.UserSession, error) {
	var sm mo.SessionManager
	pc := property.DefaultCollector(o.Client())
	if err := pc.RetrieveOne(ctx, *o.Client().ServiceContent.SessionManager, []string{"sessionList", "currentSession"}, &sm); err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var out []types.UserSession
	for _, s := range sm.SessionList {
		if sm.CurrentSession == nil || s.Key != sm.CurrentSession.Key {
			out = append(out, s)
		}
	}
	return out, nil
}

// TerminateSessions ends all other logins and returns their number.
func (o *Operator) TerminateSessions(ctx context.Context) (int, error) {
	return o.TerminateSessionsOf(ctx, func(types.UserSession) bool { return true })
}

// TerminateSessionsOf ends the other logins that match, and returns their number.
func (o *Operator) TerminateSessionsOf(ctx context.Context, match func(types.UserSession) bool) (int, error) {
	list, err := o.sessions(ctx)
	if err != nil {
		return 0, err
	}
	req := types.TerminateSession{This: *o.Client().ServiceContent.SessionManager}
	for _, s := range list {
		if match(s) {
			req.SessionId = append(req.SessionId, s.Key)
		}
	}
	if len(req.SessionId) == 0 {
		return 0, nil
	}
	if _, err := methods.TerminateSession(ctx, o.Client(), &req); err != nil {
		return 0, fmt.Errorf("terminate sessions: %w", err)
	}
	return len(req.SessionId), nil
}
