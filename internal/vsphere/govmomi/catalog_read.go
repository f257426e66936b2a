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

// catalogEvery bounds how often a missing name makes the catalog be read.
const catalogEvery = 5 * time.Second

// lookAgain asks for another reading, because a name was not found.
func (s *Server) lookAgain() { kick(s.catalogKick) }

// keepCatalog reads the catalog from time to time and when a name was missed.
func (s *Server) keepCatalog(ctx context.Context, c *connection) error {
	for {
		if !sleep(ctx, min(catalogEvery, s.cfg.ResyncInterval)) {
			return ctx.Err()
		}
		timer := time.NewTimer(s.cfg.ResyncInterval)
		select {
		case <-ctx.Done():
		case <-s.catalogKick:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.refreshCatalog(ctx, c); err != nil {
			return err
		}
	}
}

// refreshCatalog reads templates and places, and tells when they changed.
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
	objects, err := contained(ctx, c.client, c.datacenter.ref, []types.PropertySpec{
		{Type: vsphere.TypeVirtualMachine, PathSet: []string{propName, propParent, propTemplate}},
		{Type: vsphere.TypeFolder, PathSet: named},
		{Type: typeCompute, PathSet: []string{propName, propParent, propDatastores, propNetworks, propHosts}},
		{Type: typeHost, PathSet: append([]string{propName, propParent}, hostStateProperties...)},
		{Type: typePool, PathSet: []string{propName, propParent, propOwner}},
		{Type: typeDatastore, PathSet: named},
		{Type: typeNetwork, PathSet: named},
		{Type: typeSwitchEnd, PathSet: []string{propName, propParent, propUplinks, propPortgroups}},
	})
	if err != nil {
		return nil, err
	}
	t := newTree(c.datacenter.ref)
	t.add(c.datacenter.vmFolder, c.datacenter.ref, "vm")
	for _, o := range objects {
		t.add(o.ref, o.refOf(propParent), o.text(propName))
	}
	path := func(ref vsphere.Ref) string { return c.datacenter.path + t.path(ref) }
	out := &content{}
	out.readComputes(objects, path)
	var templates []vsphere.Ref
	for _, o := range objects {
		if o.ref.Type != vsphere.TypeVirtualMachine || o.refOf(propParent).IsZero() {
			continue
		}
		switch p := path(o.ref); {
		case !o.yes(propTemplate):
			// Those below our root folder are in the inventory.
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
	return out, nil
}

// sameContent reports whether groups need not look at the catalog again.
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
			HasSnapshot: !e.snapshot.IsZero(), Unfit: e.full.unfit("the template"), UnfitLinked: e.linked.unfit("the snapshot of the template"),
		}
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

// below reports whether a path lies below one of the folders; with no folders any does.
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
