package govmomi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/operations"
)

var (
	errNotToAdopt   = errors.New("the VM does not carry, or not any more, what makes it the group's to adopt; it is left alone")
	errNotGranted   = errors.New("the VM does not lie in the folder that was granted, nor in the group's own; it is left alone")
	errNotInPlace   = errors.New("the VM is not in the group's folder under its name yet")
	errOtherUUID    = errors.New("the VM has another instance UUID than it had when it was observed")
	errUnreadConfig = errors.New("vCenter does not show the VM's configuration now, so its owner is unknown")
)

// ReadFolder reads the VMs in a folder: see vsphere.Server.
func (s *Server) ReadFolder(ctx context.Context, path string) (vsphere.FolderContent, error) {
	op := "read folder " + path
	c, err := s.live(op)
	if err != nil {
		return vsphere.FolderContent{}, err
	}
	content := vsphere.FolderContent{Folder: c.datacenter.vmFolder}
	below := withoutFolder(path, c.datacenter.path+"/vm")
	for name := range strings.SplitSeq(below, "/") {
		child, err := findChild(ctx, c.client, content.Folder, name)
		if err != nil {
			return vsphere.FolderContent{}, translate(op, readOnlyError(err))
		}
		if content.Folder = child; child.Type == vsphere.TypeFolder {
			continue
		}
		if content.Folder, err = folderAsShown(ctx, c, below); err != nil {
			return vsphere.FolderContent{}, translate(op, readOnlyError(err))
		}
		break
	}
	o, err := exact(ctx, c.client, content.Folder, "childEntity")
	if err != nil {
		return vsphere.FolderContent{}, translate(op, readOnlyError(err))
	}
	for _, denied := range o.denied {
		return vsphere.FolderContent{}, translate(op, readOnlyError(denied))
	}
	refs := slices.DeleteFunc(o.refsOf("childEntity"), func(ref vsphere.Ref) bool { return ref.Type != vsphere.TypeVirtualMachine })
	objects, err := existing(ctx, c.client, refs, types.PropertySpec{
		Type: vsphere.TypeVirtualMachine, PathSet: slices.Concat(baseProperties, detailProperties, []string{propCreateDate}),
	})
	if err != nil {
		return vsphere.FolderContent{}, translate(op, readOnlyError(err))
	}
	for _, o := range objects {
		seen, err := seenOf(baseOf(o), o)
		if err == nil && seen.Unread {
			err = errUnreadConfig
		}
		values, unread := stampValues(o)
		if err = cmp.Or(err, unread); err != nil {
			return vsphere.FolderContent{}, translate(op, readOnlyError(err))
		}
		created, _ := o.values[propCreateDate].(time.Time)
		content.VMs = append(content.VMs, vsphere.FoundVM{VM: seen.VM, Created: created, Marked: marked(values)})
	}
	return content, nil
}

// withoutFolder returns the part of a path below an API folder if the path is a whole one below it, otherwise the whole path. Both results have no
// slashes around them and use names as users write them.
func withoutFolder(path, folder string) string {
	for i := 1; i < len(path); i++ {
		if path[0] == '/' && path[i] == '/' && inventoryname.Refer(path[:i], folder) != inventoryname.None {
			return strings.Trim(path[i:], "/")
		}
	}
	return strings.Trim(path, "/")
}

// Claim writes a release mark: see vsphere.Server.
func (s *Server) Claim(ctx context.Context, a vsphere.Adoption) error {
	r, err := s.adoption(vsphere.OpClaim, a)
	if err != nil {
		return err
	}
	r.Mark = a.Mark
	keys, err := inventory.EncodeRelease(a.Mark)
	if err == nil && (a.From.Stamp != nil || a.From.Released != nil || a.From.Folder.IsZero()) {
		err = errNotGranted
	}
	if err != nil {
		return &vsphere.Error{Kind: vsphere.KindForeign, Op: phrase(r), Object: a.VM, Err: err}
	}
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		o, err := s.mayAdopt(ctx, c, r, a)
		switch {
		case err != nil:
			return types.ManagedObjectReference{}, err
		case o.refOf(propParent) != a.From.Folder:
			return types.ManagedObjectReference{}, &vsphere.Error{Kind: vsphere.KindForeign, Op: phrase(r), Object: a.VM, Err: errNotGranted}
		}
		return writeKeys(ctx, c, a.VM, a.ChangeVersion, keys)
	})
}

// Move moves a VM into the group's folder: see vsphere.Server.
func (s *Server) Move(ctx context.Context, a vsphere.Adoption) error {
	moved := func(o object) bool { return o.refOf(propParent) == a.Folder }
	return s.place(ctx, vsphere.OpMove, a, moved, func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		resp, err := methods.MoveIntoFolder_Task(ctx, c.client, &types.MoveIntoFolder_Task{
			This: toRef(a.Folder), List: []types.ManagedObjectReference{toRef(a.VM)},
		})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return resp.Returnval, nil
	})
}

// Rename gives a VM the group's name: see vsphere.Server.
func (s *Server) Rename(ctx context.Context, a vsphere.Adoption) error {
	renamed := func(o object) bool { return o.text(propName) == a.Name }
	return s.place(ctx, vsphere.OpRename, a, renamed, func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		resp, err := methods.Rename_Task(ctx, c.client, &types.Rename_Task{This: toRef(a.VM), NewName: a.Name})
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		return resp.Returnval, nil
	})
}

// place submits a step that brings a VM nearer to its place in the group's folder. If the step is done already, it sends nothing.
func (s *Server) place(ctx context.Context, kind vsphere.OperationKind, a vsphere.Adoption, done func(object) bool, send call) error {
	r, err := s.adoption(kind, a)
	if err != nil {
		return err
	}
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		o, err := s.mayAdopt(ctx, c, r, a)
		switch {
		case err != nil:
			return types.ManagedObjectReference{}, err
		case done(o):
			return types.ManagedObjectReference{}, errDone
		}
		return send(ctx, c)
	})
}

// Adopt writes the stamp: see vsphere.Server.
func (s *Server) Adopt(ctx context.Context, a vsphere.Adoption) error {
	r, err := s.adoption(vsphere.OpAdopt, a)
	if err != nil {
		return err
	}
	if vm, state := s.index.VM(a.VM); state == inventory.Present && a.Done(vm.Stamp) && !vm.Tombstone {
		return nil
	}
	stamp, err := inventory.EncodeStamp(a.Stamp)
	if err != nil {
		return &vsphere.Error{Kind: vsphere.KindSpec, Op: phrase(r), Object: a.VM, Err: err}
	}
	return s.submit(ctx, r, "", func(ctx context.Context, c *connection) (types.ManagedObjectReference, error) {
		o, err := s.mayAdopt(ctx, c, r, a)
		if err != nil {
			return types.ManagedObjectReference{}, err
		}
		conflict := func(cause error) error {
			return &vsphere.Error{Kind: vsphere.KindConflict, Op: phrase(r), Object: a.VM, Err: cause}
		}
		switch {
		case o.refOf(propParent) != a.Folder || o.text(propName) != a.Name:
			return types.ManagedObjectReference{}, conflict(errNotInPlace)
		case a.Stamp.UUID == "" || !strings.EqualFold(o.text(propInstanceUUID), a.Stamp.UUID):
			return types.ManagedObjectReference{}, conflict(errOtherUUID)
		}
		return writeKeys(ctx, c, a.VM, a.ChangeVersion, stamp)
	})
}

// adoption returns the request for a step. The inventory does not contain a VM outside of the root folder, so only a fresh read shows that VM. The
// inventory knows the group's folder.
func (s *Server) adoption(kind vsphere.OperationKind, a vsphere.Adoption) (operations.Request, error) {
	r := operations.Request{
		Key: operations.Key{Group: a.Stamp.Key(), Ordinal: a.Stamp.Ordinal}, Kind: kind, VM: a.VM, Name: a.Name, Stamp: a.Stamp, Folder: a.Folder,
	}
	fail := func(k vsphere.Kind, cause error) (operations.Request, error) {
		return r, &vsphere.Error{Kind: k, Op: phrase(r), Object: a.VM, Err: cause}
	}
	if a.Stamp.Installation != s.cfg.Installation {
		return fail(vsphere.KindForeign, errOtherInstallation)
	}
	if kind, cause := s.unusable(a.Folder); cause != nil {
		return fail(kind, cause)
	}
	s.acts(a.VM)
	return r, nil
}

// mayAdopt checks with a fresh read whether the group can adopt a VM, and returns what it read. vCenter has no conditional move or rename, so a
// user's change between the read and the call is not detected. The stamp is written with the observed change version.
func (s *Server) mayAdopt(ctx context.Context, c *connection, r operations.Request, a vsphere.Adoption) (object, error) {
	if err := vsphere.CheckFence(ctx); err != nil {
		return object{}, err
	}
	o, err := exact(ctx, c.client, a.VM, append([]string{propName, propParent, propTemplate, propInstanceUUID, propChangeVersion}, stampProperties...)...)
	if err != nil {
		return o, readOnlyError(err)
	}
	refuse := func(kind vsphere.Kind, cause error) (object, error) {
		return o, &vsphere.Error{Kind: kind, Op: phrase(r), Object: a.VM, Err: cause}
	}
	for _, denied := range o.denied {
		if denies(denied) {
			return o, readOnlyError(denied)
		}
	}
	values, unread := stampValues(o)
	if unread == nil && !o.has(propChangeVersion) {
		unread = errUnreadConfig
	}
	if unread != nil {
		return refuse(vsphere.KindTransient, unread)
	}
	stamp, tombstone := inventory.DecodeStamp(values)
	switch {
	case a.Done(stamp) && !tombstone:
		return o, errDone // a reply was lost
	case tombstone, !a.From.Carried(stamp, inventory.DecodeRelease(values)), a.From.Stamp == nil && a.From.Released == nil && marked(values):
		return refuse(vsphere.KindForeign, errNotToAdopt)
	case o.values[propTemplate] == true:
		return refuse(vsphere.KindForeign, errTemplate)
	}
	return o, s.mayTakeFrom(ctx, c, r, a, o.refOf(propParent))
}

// mayTakeFrom refuses a VM in a folder from which the group cannot adopt it.
func (s *Server) mayTakeFrom(ctx context.Context, c *connection, r operations.Request, a vsphere.Adoption, parent vsphere.Ref) error {
	refuse := func(cause error) error {
		return &vsphere.Error{Kind: vsphere.KindForeign, Op: phrase(r), Object: a.VM, Err: cause}
	}
	if parent == a.Folder {
		return nil
	}
	if !a.From.Folder.IsZero() {
		if parent != a.From.Folder {
			return refuse(errNotGranted)
		}
		return nil
	}
	if _, known := s.index.Folder(parent); known {
		return nil
	}
	inside, err := s.belowRoot(ctx, c, parent)
	if err != nil {
		return readOnlyError(err)
	}
	if !inside {
		return refuse(fmt.Errorf("the VM was moved out of %s", c.root.Path))
	}
	return nil
}

// marked reports whether a VM's configuration contains any key of a stamp or mark, even of an unreadable one. A newer version of the operator can have
// written it.
func marked(values map[string]string) bool {
	for key, value := range values {
		if value != "" && key != inventory.KeyRootDisk && key != inventory.KeyDataDisks {
			return true
		}
	}
	return false
}

// folderAsShown finds a folder by its path below the datacenter's VM folder, as the vSphere Client displays it.
func folderAsShown(ctx context.Context, c *connection, below string) (vsphere.Ref, error) {
	folders, err := contained(ctx, c.client, c.datacenter.vmFolder, []types.PropertySpec{{Type: vsphere.TypeFolder, PathSet: []string{propName, propParent}}})
	if err != nil {
		return vsphere.Ref{}, err
	}
	t := newTree(c.datacenter.vmFolder)
	for _, o := range folders {
		t.add(o.ref, o.refOf(propParent), o.text(propName))
	}
	paths := make([]string, len(folders))
	for i, o := range folders {
		paths[i] = c.datacenter.path + "/vm" + t.path(o.ref)
	}
	i, err := choose("folder", c.datacenter.path+"/vm/"+below, paths)
	if err != nil {
		return vsphere.Ref{}, err
	}
	return folders[i].ref, nil
}
