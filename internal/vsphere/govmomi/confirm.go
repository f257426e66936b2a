package govmomi

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

const (
	confirmBatch = 100
	confirmFirst = 500 * time.Millisecond
	confirmLast  = 30 * time.Second
)

// reread reads objects whole and applies them.
func (s *Server) reread(ctx context.Context, r reader, refs []vsphere.Ref) error {
	if len(refs) == 0 {
		return nil
	}
	began := s.index.Begin()
	objects, err := r.fetch(ctx, refs)
	if err != nil {
		return err
	}
	return s.read(began, refs, objects)
}

// read applies the answer to a call that began at a moment and read objects whole. An object that was not found, or that lies outside of the root, becomes a
// suspect. Before the first listing the index knows only the root folder. An object in another folder is then looked up without becoming a suspect.
func (s *Server) read(began inventory.Moment, refs []vsphere.Ref, objects []object) error {
	if len(refs) == 0 {
		return nil
	}
	missing := map[vsphere.Ref]bool{}
	for _, ref := range refs {
		missing[ref] = true
	}
	var folders []vsphere.Folder
	for _, o := range objects {
		if _, known := s.index.Folder(o.refOf(propParent)); o.ref.Type == vsphere.TypeFolder && known {
			folders = append(folders, folderOf(o))
			delete(missing, o.ref)
		}
	}
	s.index.Upsert(began, nil, folders)
	var vms []inventory.Seen
	for _, o := range objects {
		_, known := s.index.Folder(o.refOf(propParent))
		if o.ref.Type != vsphere.TypeVirtualMachine || !known || !missing[o.ref] {
			continue
		}
		seen, err := seenOf(baseOf(o), o)
		if err != nil {
			return err
		}
		vms = append(vms, seen)
		delete(missing, o.ref)
	}
	s.index.Upsert(began, vms, nil)
	missed := slices.Collect(maps.Keys(missing))
	if !s.index.Listed() {
		for _, o := range objects {
			delete(missing, o.ref)
		}
	}
	s.index.Missed(began, slices.Collect(maps.Keys(missing))...)
	s.wanted(missed)
	return nil
}

// wanted requests verdicts on objects, whether or not the index knows them.
func (s *Server) wanted(refs []vsphere.Ref) {
	if len(refs) > 0 {
		s.ask(refs)
	}
}

// confirmSuspects asks vCenter about missing objects and retries errors. A suspect without a verdict stays a suspect and waits for the next retry, however
// often a group asks for it.
func (s *Server) confirmSuspects(ctx context.Context, c *connection) error {
	made := attempts{tried: map[vsphere.Ref]bool{}}
	for {
		batch, wait := s.affordable(made.fresh(s.pending(), time.Now()))
		if len(batch) == 0 {
			if err := s.confirmLater(ctx, &made, wait); err != nil {
				return err
			}
			continue
		}
		if err := s.confirm(ctx, c, batch); err != nil && ctx.Err() == nil {
			if has[*types.ManagedObjectNotFound](err) { // it was deleted during the call
				s.log.Info("Objects were deleted while vCenter was asked about them; asking again", "objects", len(batch))
			} else {
				s.log.Error(err, "Cannot confirm whether objects exist; trying again", "objects", len(batch))
			}
		}
		made.note(batch, s.pending(), time.Now())
		s.applied()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// confirmLater waits for the first of three events: the retry of everything is due, an untried object is pending, or wait ends. A wait of zero never ends. At
// the end of wait, a member can have another object looked up.
func (s *Server) confirmLater(ctx context.Context, made *attempts, wait time.Duration) error {
	var credit, again <-chan time.Time
	if wait > 0 {
		credit = time.After(wait)
	}
	if !made.again.IsZero() {
		again = time.After(time.Until(made.again))
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-credit:
	case <-again:
	case <-s.confirmKick:
	}
	return nil
}

// pending returns all objects that wait for a verdict. Those that groups name come last, in turns of their members.
func (s *Server) pending() []lookUp {
	suspects := s.index.Suspects()
	out := make([]lookUp, 0, len(suspects))
	seen := make(map[vsphere.Ref]struct{}, len(suspects))
	for _, ref := range suspects {
		seen[ref] = struct{}{}
		out = append(out, lookUp{ref: ref})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref := range s.asked {
		if _, ok := seen[ref]; !ok {
			seen[ref] = struct{}{}
			out = append(out, lookUp{ref: ref})
		}
	}
	byMember := map[string][]vsphere.Ref{}
	for ref, member := range s.sought {
		if _, ok := seen[ref]; !ok {
			byMember[member] = append(byMember[member], ref)
		}
	}
	return append(out, inTurns(byMember)...)
}

// inTurns takes one object of each member in turn, so that no member waits for all invented objects of another.
func inTurns(byMember map[string][]vsphere.Ref) (all []lookUp) {
	for len(byMember) > 0 {
		for member, left := range byMember {
			all = append(all, lookUp{ref: left[0], member: member})
			if byMember[member] = left[1:]; len(left) == 1 {
				delete(byMember, member)
			}
		}
	}
	return all
}

func (s *Server) answered(ref vsphere.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asked, ref)
	delete(s.uuids, ref)
	delete(s.sought, ref)
}

// confirm looks up objects with one call. It asks about each missing object individually: only the answer "this object does not exist" about exactly this
// object makes it Gone.
func (s *Server) confirm(ctx context.Context, c *connection, refs []vsphere.Ref) error {
	began := s.index.Begin()
	r := reader{client: c.client, index: s.index}
	objects, err := r.fetch(ctx, refs)
	if err != nil {
		return err
	}
	found := make(map[vsphere.Ref]bool, len(objects))
	for _, o := range objects {
		found[o.ref] = true
		if err := s.verdict(ctx, c, began, o); err != nil {
			return err
		}
	}
	for _, ref := range refs {
		if found[ref] {
			continue
		}
		if _, err := exact(ctx, c.client, ref, propName); notFound(err, ref) {
			if err := s.missing(ctx, c, began, ref); err != nil {
				return err
			}
			s.answered(ref)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// verdict applies an object that exists, either below the root or elsewhere.
func (s *Server) verdict(ctx context.Context, c *connection, began inventory.Moment, o object) error {
	parent := o.refOf(propParent)
	if parent.IsZero() {
		// A VM of a vApp has no parent folder. It stays a suspect, which keeps it safe.
		return nil
	}
	inside, path, err := s.whereabouts(ctx, c, o)
	if err != nil {
		return err
	}
	s.answered(o.ref)
	switch {
	case !inside && o.ref.Type == vsphere.TypeFolder:
		s.index.ConfirmFolderElsewhere(began, folderOf(o))
		s.listAnew() // its content moved along, and the view does not always report each object
		return nil
	case !inside:
		seen, err := seenOf(baseOf(o), o)
		if err != nil {
			seen = inventory.Seen{VM: vsphere.VM{Ref: o.ref}, Unread: true} // its owner is not visible there
		}
		s.index.ConfirmElsewhere(began, inventory.Outside{Seen: seen, Path: path})
		return nil
	}
	s.listAnew()
	if o.ref.Type == vsphere.TypeFolder {
		s.index.Upsert(began, nil, []vsphere.Folder{folderOf(o)})
		return nil
	}
	seen, err := seenOf(baseOf(o), o)
	if err != nil {
		return err
	}
	s.index.Upsert(began, []inventory.Seen{seen}, nil)
	return nil
}

// listAnew requests a listing through a new view from the feed.
func (s *Server) listAnew() {
	s.mu.Lock()
	s.viewStale = true
	s.mu.Unlock()
	kick(s.listKick)
}

// belowRoot follows the parents of a folder up to the root folder.
func (s *Server) belowRoot(ctx context.Context, c *connection, folder vsphere.Ref) (bool, error) {
	const deepest = 64
	for range deepest {
		if folder == c.root.Ref {
			return true, nil
		}
		if folder.IsZero() || folder == c.datacenter.vmFolder {
			return false, nil
		}
		o, err := exact(ctx, c.client, folder, propParent)
		if err != nil {
			return false, err
		}
		folder = o.refOf(propParent)
	}
	return false, nil
}
