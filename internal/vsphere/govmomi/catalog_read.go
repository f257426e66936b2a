package govmomi

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// catalogEvery is the pause between rounds of searches for missing names.
const catalogEvery = 5 * time.Second

// keepCatalog reads the catalog every ResyncInterval, and when vCenter has an object with a missing name. A missing name alone never causes a listing of
// the datacenter.
func (s *Server) keepCatalog(ctx context.Context, c *connection) error {
	for read := time.Now(); sleep(ctx, 0); sleep(ctx, min(catalogEvery, s.cfg.ResyncInterval)) {
		timer := time.NewTimer(time.Until(read.Add(s.cfg.ResyncInterval)))
		outdated := false
		select {
		case <-ctx.Done():
		case <-s.catalogKick:
		case <-timer.C:
			outdated = true
		}
		timer.Stop()
		if ctx.Err() != nil {
			break
		}
		if !outdated {
			appeared, err := s.lookForMissed(ctx, c)
			if err != nil {
				return err
			}
			outdated = appeared
		}
		if !outdated {
			continue
		}
		if err := s.refreshCatalog(ctx, c); err != nil {
			return err
		}
		read = time.Now()
	}
	return ctx.Err()
}

// refreshCatalog reads templates and places, and notifies groups of changes.
func (s *Server) refreshCatalog(ctx context.Context, c *connection) error {
	got, err := readCatalog(ctx, c, s.cfg.TemplateFolders)
	if err != nil {
		return translate("read vCenter's templates and places", err)
	}
	s.cat.mu.Lock()
	changed := !sameContent(s.cat.content, got)
	s.cat.content = got
	s.cat.mu.Unlock()
	if changed {
		s.serverChanged()
	}
	return nil
}

func readCatalog(ctx context.Context, c *connection, templateFolders []string) (*content, error) {
	named := []string{propName, propParent}
	reach := []string{propName, propParent, propDatastores, propNetworks, propHosts}
	vms := types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: []string{propName, propParent, propTemplate}}
	specs := []types.PropertySpec{
		{Type: vsphere.TypeFolder, PathSet: named},
		{Type: typeCompute, PathSet: reach},
		// The list repeats the properties of each compute resource. Thus it does not matter whether vCenter reads one entry of a type or all that fit.
		{Type: typeCluster, PathSet: append(slices.Clone(reach), propDRS)},
		{Type: typeHost, PathSet: append([]string{propName, propParent}, hostStateProperties...)},
		{Type: typePool, PathSet: []string{propName, propParent, propOwner}},
		{Type: typeDatastore, PathSet: named},
		{Type: typeNetwork, PathSet: named},
		{Type: typeSwitchEnd, PathSet: []string{propName, propParent, propUplinks, propPortgroups}},
	}
	if len(templateFolders) == 0 {
		specs = append(specs, vms)
	}
	objects, err := contained(ctx, c.client, c.datacenter.ref, specs)
	if err != nil {
		return nil, err
	}
	t := newTree(c.datacenter.ref)
	t.add(c.datacenter.vmFolder, c.datacenter.ref, "vm")
	for _, o := range objects {
		t.add(o.ref, o.refOf(propParent), o.text(propName))
	}
	path := func(ref vsphere.Ref) string { return c.datacenter.path + t.path(ref) }
	out := &content{datacenter: c.datacenter.ref}
	out.readComputes(objects, path)
	for _, folder := range outermost(objects, path, templateFolders) {
		in, err := contained(ctx, c.client, folder, []types.PropertySpec{vms})
		if err != nil {
			return nil, err
		}
		for _, o := range in {
			t.add(o.ref, o.refOf(propParent), o.text(propName))
		}
		objects = append(objects, in...)
	}
	var templates []vsphere.Ref
	for _, o := range objects {
		if o.ref.Type != vsphere.TypeVirtualMachine || o.refOf(propParent).IsZero() {
			continue
		}
		switch p := path(o.ref); {
		case !o.yes(propTemplate):
			// The inventory has the VMs below our root folder.
			if !strings.HasPrefix(p, c.root.Path+"/") {
				out.ordinary = append(out.ordinary, p)
			}
		case below(p, templateFolders):
			templates = append(templates, o.ref)
		}
	}
	out.readPlaces(objects, path)
	if out.templates, err = readTemplates(ctx, c, templates, path); err != nil {
		return nil, err
	}
	out.sort()
	known := map[vsphere.Ref]string{}
	for _, e := range out.templates {
		known[e.Ref] = e.Path
	}
	for _, p := range slices.Concat(out.pools, out.datastores, out.networks) {
		known[p.ref] = p.path
	}
	out.noteUnseen(t, known)
	return out, nil
}

// outermost returns those of objects that are template folders and lie in no other template folder. Without named folders it returns none.
func outermost(objects []object, path func(vsphere.Ref) string, named []string) (folders []vsphere.Ref) {
	for _, o := range objects {
		if p := path(o.ref); len(named) > 0 && o.ref.Type == vsphere.TypeFolder && below(p+"/", named) && !below(p, named) {
			folders = append(folders, o.ref)
		}
	}
	return folders
}

// sameContent reports whether the catalog is unchanged for groups. It ignores the state of hosts.
func sameContent(a, b *content) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.hosts, y.hosts = nil, nil
	return reflect.DeepEqual(x, y)
}

func readTemplates(ctx context.Context, c *connection, refs []vsphere.Ref, path func(vsphere.Ref) string) ([]templateEntry, error) {
	objects, err := existing(ctx, c.client, refs, types.PropertySpec{Type: vsphere.TypeVirtualMachine, PathSet: []string{
		propName, propHost, propSnapshot, propDatastores, propNetworks, propChangeVersion, propDevices, propCores, propVApp,
	}})
	if err != nil {
		return nil, err
	}
	snapshots, err := hardwareOfSnapshots(ctx, c, objects)
	if err != nil {
		return nil, err
	}
	var out []templateEntry
	for _, o := range objects {
		e := templateEntry{snapshot: o.refOf(propSnapshot), changeVersion: o.text(propChangeVersion), vApp: o.has(propVApp), full: hardwareOf(o)}
		e.linked = snapshots[e.snapshot]
		e.Template = vsphere.Template{
			Ref: o.ref, Name: o.text(propName), Path: path(o.ref), Host: cmp.Or(o.refOf(propHost).Value, o.ref.Value),
			HasSnapshot: !e.snapshot.IsZero(), CoresPerSocket: e.full.cores, Unfit: e.full.unfit("the template"), UnfitLinked: e.linked.unfit("the snapshot of the template"),
		}
		if e.full.root != nil {
			e.RootDiskBytes, e.DataDisks = capacity(e.full.root), e.full.slots.free()
		}
		e.DataDisksLinked = e.linked.slots.free()
		for _, ref := range o.refsOf(propDatastores) {
			e.Datastores = append(e.Datastores, path(ref))
		}
		for _, ref := range o.refsOf(propNetworks) {
			e.Networks = append(e.Networks, path(ref))
		}
		slices.Sort(e.Datastores)
		slices.Sort(e.Networks)
		out = append(out, e)
	}
	return out, nil
}

// below reports whether a path lies below one of the folders. Without folders it returns true.
func below(path string, folders []string) bool {
	return len(folders) == 0 || slices.ContainsFunc(folders, func(f string) bool {
		return inventoryname.Below(path, f)
	})
}

func (c *content) sort() {
	slices.SortFunc(c.templates, func(a, b templateEntry) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(c.ordinary)
	slices.SortFunc(c.others, func(a, b otherKind) int { return cmp.Compare(a.path, b.path) })
	for _, places := range [][]place{c.pools, c.datastores, c.networks} {
		slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	}
}
