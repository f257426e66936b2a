package govmomi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

var errRootFolder = errors.New("the operator's own root folder is never destroyed")

// EnsureFolder returns the group's folder and creates the missing parts of the path: see vsphere.Server. Folders in the
// inventory cost no call.
func (s *Server) EnsureFolder(ctx context.Context, path vsphere.FolderPath) (vsphere.Folder, error) {
	c, err := s.live("find the folder of " + path.Leaf)
	if err != nil {
		return vsphere.Folder{}, err
	}
	folder := c.root
	for _, name := range []string{path.Member, path.Namespace, path.Leaf} {
		if folder, err = s.ensureChild(ctx, c, folder, name, path); err != nil {
			return vsphere.Folder{}, err
		}
	}
	return folder, nil
}

// unusable returns the reason why no VM can be put into a folder, according to the inventory. If the folder is usable,
// the error is nil.
func (s *Server) unusable(folder vsphere.Ref) (vsphere.Kind, error) {
	switch _, state := s.index.FolderState(folder); state {
	case inventory.Present:
		return "", nil
	case inventory.Unknown, inventory.Suspect:
		return vsphere.KindTransient, fmt.Errorf("folder %s is not in the inventory; it is being looked up", folder)
	case inventory.Gone:
		return vsphere.KindNotFound, fmt.Errorf("folder %s does not exist any more", folder)
	default:
		return vsphere.KindConflict, fmt.Errorf("folder %s is not below the operator's root folder; if a user moved it, move it back", folder)
	}
}

func (s *Server) ensureChild(ctx context.Context, c *connection, parent vsphere.Folder, name string,
	path vsphere.FolderPath) (vsphere.Folder, error) {
	op := "create folder " + parent.Path + "/" + name
	if f, ok := s.index.Child(parent.Ref, name); ok {
		return f, nil
	}
	// If a hundred groups of a namespace need its folder at once, one of them creates it.
	unlock, err := s.folders.lock(ctx, parent.Ref.Value+"/"+name)
	if err != nil {
		return vsphere.Folder{}, translate(op, err)
	}
	defer unlock()
	if f, ok := s.index.Child(parent.Ref, name); ok {
		return f, nil
	}
	// Groups that waited for a call to an unresponsive vCenter fail here at once instead of one after the other.
	if _, err := s.live(op); err != nil {
		return vsphere.Folder{}, err
	}
	if err := s.folderErrors.standing(path); err != nil {
		return vsphere.Folder{}, err
	}
	f, err := s.createChild(ctx, c, parent, name, op)
	if ctx.Err() == nil {
		// An attempt that the caller canceled says nothing about vCenter.
		s.folderErrors.record(path, name == path.Leaf, err)
	}
	return f, err
}

func (s *Server) createChild(ctx context.Context, c *connection, parent vsphere.Folder, name, op string) (vsphere.Folder, error) {
	began := s.index.Begin()
	ref, err := createFolder(ctx, c.client, parent.Ref, name)
	if err != nil {
		if notFound(err, parent.Ref) {
			s.index.Left(parent.Ref)
			s.wanted([]vsphere.Ref{parent.Ref})
		}
		return vsphere.Folder{}, translate(op, err)
	}
	if ref.Type != vsphere.TypeFolder {
		return vsphere.Folder{}, &vsphere.Error{Kind: vsphere.KindNameTaken, Op: op, Object: ref,
			Err: fmt.Errorf("%s has this name and is no folder; rename or move it", ref)}
	}
	s.index.Made(began, vsphere.Folder{Ref: ref, Name: name, Parent: parent.Ref})
	f, ok := s.index.Folder(ref)
	if !ok {
		return vsphere.Folder{}, &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Object: ref,
			Err: errors.New("the folder was removed meanwhile")}
	}
	return f, nil
}

// DestroyFolder removes an empty folder: see vsphere.Server. vCenter would also destroy the VMs in the folder, so
// DestroyFolder reads the content right before the call.
func (s *Server) DestroyFolder(ctx context.Context, ref vsphere.Ref) error {
	op := "destroy folder " + ref.String()
	c, err := s.live(op)
	if err != nil {
		return err
	}
	if ref == c.root.Ref || ref == c.datacenter.vmFolder || ref.Type != vsphere.TypeFolder {
		return &vsphere.Error{Kind: vsphere.KindForeign, Op: op, Object: ref, Err: errRootFolder}
	}
	// The session checks the fence again. This early check saves the reads of a caller without the right to act.
	if err := vsphere.CheckFence(ctx); err != nil {
		return translate(op, err)
	}
	began := s.index.Begin()
	o, err := exact(ctx, c.client, ref, propName, propParent, "childEntity")
	if notFound(err, ref) {
		s.index.Confirm(began, ref, inventory.Gone)
		return nil
	}
	if err != nil {
		return translate(op, readOnlyError(err))
	}
	inside, err := s.belowRoot(ctx, c, o.refOf(propParent))
	if err != nil {
		return translate(op, readOnlyError(err))
	}
	if !inside {
		return &vsphere.Error{Kind: vsphere.KindForeign, Op: op, Object: ref,
			Err: fmt.Errorf("the folder %s lies outside of %s", untrusted.Name(o.text(propName)), c.root.Path)}
	}
	// A running clone would be destroyed with the folder, or fail in it.
	n := 0
	for _, owner := range s.index.Owners(ref) {
		n += len(s.ops.Cloning(owner))
	}
	if n > 0 {
		return &vsphere.Error{Kind: vsphere.KindNotEmpty, Op: op, Object: ref,
			Err: fmt.Errorf("%d clones into folder %s are on their way", n, untrusted.Name(o.text(propName)))}
	}
	// An unreadable property is not an empty one.
	if children := o.refsOf("childEntity"); len(children) > 0 || len(o.denied) > 0 {
		count := len(children)
		holds := slices.DeleteFunc(children, func(r vsphere.Ref) bool { return r.Type == vsphere.TypeFolder })
		kind := vsphere.KindHoldsFolders
		if len(o.denied) > 0 || len(holds) > 0 {
			kind = vsphere.KindNotEmpty
		}
		return &vsphere.Error{Kind: kind, Op: op, Object: ref, Holds: holds,
			Err: fmt.Errorf("folder %s holds %d objects, and is kept", untrusted.Name(o.text(propName)), count)}
	}
	resp, err := methods.Destroy_Task(ctx, c.client, &types.Destroy_Task{This: toRef(ref)})
	if err != nil && !notFound(err, ref) {
		return translate(op, err)
	}
	if err == nil {
		s.log.V(1).Info("Folder is being destroyed", "folder", o.text(propName), "taskRef", resp.Returnval.Value)
	}
	s.index.Left(ref)
	s.wanted([]vsphere.Ref{ref})
	return nil
}

// keyedLocks are mutexes by name.
type keyedLocks struct {
	mu    sync.Mutex
	locks map[string]*keyedLock
}

type keyedLock struct {
	// held has one element while the lock is held.
	held  chan struct{}
	users int
}

// lock locks a name and returns the unlock function, or the error of a context that ended meanwhile.
func (k *keyedLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*keyedLock{}
	}
	l := k.locks[name]
	if l == nil {
		l = &keyedLock{held: make(chan struct{}, 1)}
		k.locks[name] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.locks, name)
		}
	}
	select {
	case l.held <- struct{}{}:
		return func() { <-l.held; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
