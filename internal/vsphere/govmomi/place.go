package govmomi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// deepestFolder limits the walk to the top of an inventory.
const deepestFolder = 64

// remembered returns the earlier location of the root folder, from this process or else from the VCenter's status.
func (s *Server) remembered(instance string) vsphere.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range []vsphere.Place{s.atPlace, s.cfg.Known} {
		if !p.Root.IsZero() && p.InstanceUUID == instance && p.Datacenter == s.cfg.Datacenter && p.Folder == s.cfg.RootFolder {
			return p
		}
	}
	return vsphere.Place{}
}

// findPlace finds the datacenter and the root folder by their names. If a user renamed the folder or added a datacenter, the names can lead to another folder
// than before. The previous folder is then used if vCenter shows VMs of this installation in it and none in the other. The reference alone proves nothing:
// status can be copied or edited.
func (s *Server) findPlace(ctx context.Context, c *connection) error {
	before := s.remembered(c.client.ServiceContent.About.InstanceUuid)
	var named vsphere.Folder
	found, byName := findDatacenter(ctx, c.client, s.cfg.Datacenter)
	if byName == nil {
		c.datacenter = found
		named, byName = s.namedRoot(ctx, c)
	}
	if byName != nil && vsphere.KindOf(byName) == vsphere.KindTransient {
		return byName
	}
	if !before.Root.IsZero() && before.Root != named.Ref {
		kept, in, err := s.previousRoot(ctx, c, before.Root, named.Ref)
		if err != nil {
			return err
		}
		if !kept.Ref.IsZero() {
			c.datacenter, c.root = in, kept
			return nil
		}
	}
	if byName != nil || !named.Ref.IsZero() {
		c.root = named
		return byName
	}
	var err error
	c.root, err = s.ensureRoot(ctx, c)
	return err
}

// namedRoot finds the root folder by its name, or returns the zero Folder. If the parts between the slashes name no existing folders, the slashes can be part
// of folder names.
func (s *Server) namedRoot(ctx context.Context, c *connection) (vsphere.Folder, error) {
	folder, err := s.literalRoot(ctx, c)
	if err != nil || !folder.Ref.IsZero() || !strings.ContainsAny(s.cfg.RootFolder, `/%\`) {
		return folder, err
	}
	ref, err := folderAsShown(ctx, c, strings.Trim(s.cfg.RootFolder, "/"))
	if vsphere.KindOf(err) == vsphere.KindNotFound {
		return vsphere.Folder{}, nil
	}
	if err == nil {
		folder, _, err = located(ctx, c, ref)
	}
	if err != nil {
		return vsphere.Folder{}, translate("look for the root folder", err)
	}
	return folder, nil
}

// literalRoot finds the root folder with each slash of its name as a separator.
func (s *Server) literalRoot(ctx context.Context, c *connection) (vsphere.Folder, error) {
	folder := vsphere.Folder{Ref: c.datacenter.vmFolder, Name: "vm", Path: c.datacenter.path + "/vm"}
	for name := range strings.SplitSeq(strings.Trim(s.cfg.RootFolder, "/"), "/") {
		ref, err := findChild(ctx, c.client, folder.Ref, name)
		if err != nil {
			return vsphere.Folder{}, translate("look for folder "+folder.Path+"/"+name, err)
		}
		if ref.Type != vsphere.TypeFolder {
			return vsphere.Folder{}, nil // ensureRoot reports the object in its place
		}
		folder = vsphere.Folder{Ref: ref, Name: name, Parent: folder.Ref, Path: folder.Path + "/" + name}
	}
	return folder, nil
}

// previousRoot returns the previous root folder with its datacenter if it replaces the named one, otherwise the zero Folder. If the account cannot see enough
// of the inventory to decide, only a named folder with VMs of this installation is used instead.
func (s *Server) previousRoot(ctx context.Context, c *connection, before, named vsphere.Ref) (vsphere.Folder, datacenter, error) {
	kept, in, err := s.keptRoot(ctx, c, before)
	if err != nil && vsphere.KindOf(err) != vsphere.KindPermission || err == nil && kept.Ref.IsZero() || named.IsZero() {
		return kept, in, err
	}
	holds, unknown := s.holdsGroups(ctx, c, named)
	if unknown != nil || holds {
		return vsphere.Folder{}, datacenter{}, unknown
	}
	return kept, in, err
}

// keptRoot returns a folder with its datacenter if it is a root folder of this installation, otherwise the zero Folder.
func (s *Server) keptRoot(ctx context.Context, c *connection, ref vsphere.Ref) (vsphere.Folder, datacenter, error) {
	const op = "look for the previous root folder"
	folder, in, err := located(ctx, c, ref)
	if notFound(err, ref) {
		return vsphere.Folder{}, datacenter{}, nil
	}
	if err != nil {
		return vsphere.Folder{}, datacenter{}, translate(op, err)
	}
	if in.ref.IsZero() || ref == in.vmFolder {
		return vsphere.Folder{}, datacenter{}, nil
	}
	holds, err := s.holdsGroups(ctx, c, ref)
	if err != nil || !holds {
		return vsphere.Folder{}, datacenter{}, err
	}
	return folder, in, nil
}

// located returns the location of a VM folder. For any other object the datacenter is zero. Paths begin with the first object that the account can see, if that
// is the datacenter or above it. Otherwise located returns an UnseenParentError.
func located(ctx context.Context, c *connection, ref vsphere.Ref) (folder vsphere.Folder, in datacenter, err error) {
	if ref.Type != vsphere.TypeFolder {
		return folder, in, nil
	}
	top := fromRef(c.client.ServiceContent.RootFolder)
	below, steps := vsphere.Ref{}, 0 // below is the last object on the way up
	for at := ref; at != top && !at.IsZero() && steps < deepestFolder; {
		paths := []string{propName, propParent}
		if at.Type == "Datacenter" {
			paths = append(paths, "vmFolder")
		}
		o, err := readUpwards(ctx, c, at, folder.Path, paths...)
		if unseen := (*UnseenParentError)(nil); errors.As(err, &unseen) && !in.ref.IsZero() {
			break
		}
		if err != nil {
			return folder, in, err
		}
		if at == ref {
			folder = vsphere.Folder{Ref: ref, Name: o.text(propName), Parent: o.refOf(propParent)}
		}
		if at.Type == "Datacenter" && o.refOf("vmFolder") == below {
			in = datacenter{ref: at, vmFolder: below}
		}
		folder.Path = "/" + o.text(propName) + folder.Path
		if !in.ref.IsZero() {
			in.path = "/" + o.text(propName) + in.path
		}
		steps++
		below, at = at, o.refOf(propParent)
	}
	return folder, in, nil
}

// readUpwards reads an object and its name on the way up from an object whose path is known so far. If the account cannot see the object, it returns an
// UnseenParentError.
func readUpwards(ctx context.Context, c *connection, at vsphere.Ref, path string, properties ...string) (object, error) {
	o, err := exact(ctx, c.client, at, properties...)
	if denies(err) || err == nil && !o.has(propName) {
		return o, &vsphere.Error{Kind: vsphere.KindPermission, Op: "look where a folder is", Object: at, Privilege: vsphere.PrivilegeRead,
			Err: &UnseenParentError{Path: path, Above: at}}
	}
	return o, err
}

// holdsGroups reports whether a VM of this installation lies at the depth of groups' VMs below a folder. This identifies a root folder, as opposed to a folder
// above or below one.
func (s *Server) holdsGroups(ctx context.Context, c *connection, root vsphere.Ref) (bool, error) {
	objects, err := contained(ctx, c.client, root, []types.PropertySpec{
		{Type: vsphere.TypeVirtualMachine, PathSet: append([]string{propParent}, stampProperties...)},
		{Type: vsphere.TypeFolder, PathSet: []string{propParent}},
	})
	if err != nil {
		return false, translate("look for VMs of this installation", err)
	}
	parents := map[vsphere.Ref]vsphere.Ref{}
	for _, o := range objects {
		parents[o.ref] = o.refOf(propParent)
	}
	for _, o := range objects {
		if o.ref.Type != vsphere.TypeVirtualMachine || parents[parents[parents[parents[o.ref]]]] != root {
			continue
		}
		if s.stampedHere(o) {
			return true, nil
		}
	}
	return false, nil
}

// watchPlace checks every ResyncInterval whether a new connection would find the same root folder by name. It also checks when the number of VMs found
// elsewhere changes.
func (s *Server) watchPlace(ctx context.Context, c *connection) error {
	var last time.Time
	away := 0
	for {
		if !sleep(ctx, min(time.Second, s.cfg.ResyncInterval)) {
			return ctx.Err()
		}
		now, elsewhere := s.cfg.Now(), len(s.index.ElsewhereFolders())+len(s.missedNow())
		if elsewhere == away && now.Sub(last) < s.cfg.ResyncInterval {
			continue
		}
		last, away = now, elsewhere
		problem, err := s.placeProblem(ctx, c)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Error(err, "Cannot look where the root folder is; trying again")
			}
			continue
		}
		s.mu.Lock()
		changed := s.placed != problem
		s.placed = problem
		s.mu.Unlock()
		if changed {
			s.serverChanged()
		}
	}
}

// placeProblem returns the action with which a user makes the root folder found by name.
func (s *Server) placeProblem(ctx context.Context, c *connection) (vsphere.PlaceProblem, error) {
	found, unclear := findDatacenter(ctx, c.client, s.cfg.Datacenter)
	switch kind := vsphere.KindOf(unclear); {
	case unclear != nil && kind != vsphere.KindAmbiguous && kind != vsphere.KindNotFound:
		return vsphere.PlaceProblem{}, unclear
	case unclear != nil || found.ref != c.datacenter.ref:
		path, err := s.pathOf(ctx, c, c.datacenter.ref, c.datacenter.path)
		if err != nil {
			return vsphere.PlaceProblem{}, err
		}
		why := fmt.Sprintf("spec.datacenter leads to %s", found.path)
		if unclear != nil {
			why = unclear.Error()
		}
		return vsphere.PlaceProblem{Kind: vsphere.DatacenterUnclear, Message: fmt.Sprintf(
			"%s. The datacenter of the operator's VMs, %s, is still used. Set spec.datacenter to %q", why, untrusted.Name(path), path)}, nil
	}
	at := *c
	at.datacenter = found
	named, unclear := s.namedRoot(ctx, &at)
	if unclear != nil && vsphere.KindOf(unclear) != vsphere.KindAmbiguous {
		return vsphere.PlaceProblem{}, unclear
	}
	if named.Ref != c.root.Ref {
		return s.renamed(ctx, c, unclear)
	}
	return s.elsewhere(ctx, c)
}

// renamed returns the action for a spec.folder that does not lead to the root folder: it leads to another one or, with unclear, to several.
func (s *Server) renamed(ctx context.Context, c *connection, unclear error) (vsphere.PlaceProblem, error) {
	problem := vsphere.PlaceProblem{Kind: vsphere.RootRenamed}
	folder, in, err := located(ctx, c, c.root.Ref)
	switch unseen := (*UnseenParentError)(nil); {
	case errors.As(err, &unseen):
		problem.Message = fmt.Sprintf("spec.folder does not lead to the operator's root folder %s (%s), which is still used. Its path is not known: %v",
			untrusted.Name(c.root.Name), c.root.Ref, unseen)
	case err != nil:
		return vsphere.PlaceProblem{}, err
	case unclear != nil:
		problem.Message = fmt.Sprintf("spec.folder: %v. The operator's root folder, %s, is still used. Set spec.folder to %q",
			unclear, untrusted.Name(folder.Path), strings.TrimPrefix(folder.Path, in.path+"/vm/"))
	default:
		problem.Message = fmt.Sprintf("The operator's root folder is %s now, and is still used. Rename it back to %q, or set spec.folder to %q",
			untrusted.Name(folder.Path), s.cfg.RootFolder, strings.TrimPrefix(folder.Path, in.path+"/vm/"))
	}
	return problem, nil
}

// mostMissed is the maximum number of VMs to search for while the root folder is suddenly empty.
const mostMissed = 32

// missed notes VMs to search for. The results do not enter the inventory: while the root folder is suddenly empty, nothing must follow from them.
func (s *Server) missed(refs []vsphere.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ref := range refs {
		if ref.Type == vsphere.TypeVirtualMachine && len(s.missedVMs) < mostMissed {
			s.missedVMs[ref] = struct{}{}
		}
	}
}

// missedNow returns the VMs to search for. When the root folder is no longer suddenly empty, it returns none.
func (s *Server) missedNow() []vsphere.Ref {
	empty := s.index.SuddenlyEmpty()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !empty {
		clear(s.missedVMs)
	}
	return slices.Collect(maps.Keys(s.missedVMs))
}

// foldersElsewhere returns the folders outside of the root folder that hold recorded VMs of this installation.
func (s *Server) foldersElsewhere(ctx context.Context, c *connection) ([]vsphere.Ref, error) {
	folders := s.index.ElsewhereFolders()
	objects, err := existing(ctx, c.client, s.missedNow(),
		types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: append([]string{propParent}, stampProperties...)})
	if err != nil {
		return nil, translate("look for VMs that groups have recorded", err)
	}
	for _, o := range objects {
		if s.stampedHere(o) && !o.refOf(propParent).IsZero() {
			folders = append(folders, o.refOf(propParent))
		}
	}
	return folders, nil
}

// stampedHere reports whether a VM carries a stamp of this installation.
func (s *Server) stampedHere(o object) bool {
	values, err := stampValues(o)
	if err != nil {
		return false
	}
	stamp, _ := inventory.DecodeStamp(values)
	return stamp != nil && stamp.Installation == s.cfg.Installation
}

// elsewhere reports the location of the recorded VMs if all lie below one other folder with the structure of a root folder.
func (s *Server) elsewhere(ctx context.Context, c *connection) (none vsphere.PlaceProblem, err error) {
	if s.index.Stamped() > 0 {
		return none, nil
	}
	folders, err := s.foldersElsewhere(ctx, c)
	if err != nil || len(folders) == 0 {
		return none, err
	}
	const found = "%s has no VM of this installation, and the VMs that groups have recorded are %s. Until then these VMs are left as they are"
	root, err := rootOf(ctx, c, folders)
	var folder vsphere.Folder
	var in datacenter
	if err == nil && !root.IsZero() {
		folder, in, err = located(ctx, c, root)
	}
	if unseen := (*UnseenParentError)(nil); errors.As(err, &unseen) {
		return vsphere.PlaceProblem{Kind: vsphere.VMsElsewhere, Message: fmt.Sprintf(found, untrusted.Name(c.root.Path),
			fmt.Sprintf("elsewhere: %v, and the operator names the folder", unseen))}, nil
	}
	if err != nil || in.ref.IsZero() || root == in.vmFolder {
		return none, err
	}
	advice := fmt.Sprintf("rename that folder back to %q, or set spec.folder to %q", s.cfg.RootFolder, strings.TrimPrefix(folder.Path, in.path+"/vm/"))
	if in.ref != c.datacenter.ref {
		advice += fmt.Sprintf(" and spec.datacenter to %q", in.path)
	}
	return vsphere.PlaceProblem{Kind: vsphere.VMsElsewhere, Message: fmt.Sprintf(found, untrusted.Name(c.root.Path),
		fmt.Sprintf("below %s: %s", untrusted.Name(folder.Path), advice))}, nil
}

// rootOf returns the folder that has all these folders at the depth of group folders, or the zero Ref.
func rootOf(ctx context.Context, c *connection, folders []vsphere.Ref) (root vsphere.Ref, err error) {
	looked := map[vsphere.Ref]bool{}
	for _, folder := range folders {
		if looked[folder] {
			continue
		}
		looked[folder] = true
		at, path := folder, ""
		for range 3 {
			o, err := readUpwards(ctx, c, at, path, propName, propParent)
			if err != nil {
				return vsphere.Ref{}, err
			}
			path = "/" + o.text(propName) + path
			if at = o.refOf(propParent); at.IsZero() {
				return vsphere.Ref{}, nil
			}
		}
		if !root.IsZero() && at != root {
			return vsphere.Ref{}, nil
		}
		root = at
	}
	return root, nil
}

// pathOf returns the inventory path of a datacenter, which can have been renamed.
func (s *Server) pathOf(ctx context.Context, c *connection, ref vsphere.Ref, otherwise string) (string, error) {
	o, err := exact(ctx, c.client, ref, propName)
	if err != nil {
		return "", translate("read the datacenter's name", err)
	}
	return otherwise[:strings.LastIndex(otherwise, "/")+1] + o.text(propName), nil
}
