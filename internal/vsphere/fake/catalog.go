package fake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// PlaceKind is a kind of place for VMs.
type PlaceKind string

// Kinds of places.
const (
	ResourcePool PlaceKind = "resource pool"
	Datastore    PlaceKind = "datastore"
	Network      PlaceKind = "network"
)

type place struct {
	ref  vsphere.Ref
	path string
}

// catalog holds the templates and the places of VMs.
type catalog struct {
	unread    bool
	templates []vsphere.Template
	places    map[PlaceKind][]place
}

// AddTemplate adds a template. Unset fields get defaults: a new Ref, a path from the name, and one host for all.
func (s *Server) AddTemplate(t vsphere.Template) vsphere.Template {
	s.mu.Lock()
	defer s.unlock()
	if t.Ref.IsZero() {
		t.Ref = s.ref(vsphere.TypeVirtualMachine, "vm-")
	}
	if t.Path == "" {
		t.Path = "/DC0/vm/" + t.Name
	}
	if t.Host == "" {
		t.Host = "host-1"
	}
	s.templates = append(s.templates, t)
	s.after = append(s.after, s.serverChanged)
	return t
}

// RemoveTemplate removes the templates with a name or path.
func (s *Server) RemoveTemplate(name string) {
	s.mu.Lock()
	defer s.unlock()
	s.templates = slices.DeleteFunc(s.templates, func(t vsphere.Template) bool { return inventoryname.Refer(name, t.Path) != inventoryname.None })
	s.after = append(s.after, s.serverChanged)
}

// AddPlace adds a resource pool, datastore or network.
func (s *Server) AddPlace(kind PlaceKind, path string) vsphere.Ref {
	s.mu.Lock()
	defer s.unlock()
	types := map[PlaceKind][2]string{
		ResourcePool: {"ResourcePool", "resgroup-"}, Datastore: {"Datastore", "datastore-"}, Network: {"Network", "network-"},
	}
	ref := s.ref(types[kind][0], types[kind][1])
	if s.places == nil {
		s.places = map[PlaceKind][]place{}
	}
	s.places[kind] = append(s.places[kind], place{ref, path})
	s.after = append(s.after, s.serverChanged)
	return ref
}

// SetCatalogRead sets whether templates and places are known. They are from the start.
func (s *Server) SetCatalogRead(read bool) {
	s.mu.Lock()
	defer s.unlock()
	s.unread = !read
	s.after = append(s.after, s.serverChanged)
}

// Template finds a template by name or inventory path: see vsphere.Server.
func (s *Server) Template(name string) (vsphere.Template, error) {
	s.mu.Lock()
	defer s.unlock()
	op := fmt.Sprintf("find template %q", name)
	if s.unread {
		return vsphere.Template{}, fail(vsphere.KindTransient, op, "vCenter's templates have not been read yet")
	}
	paths := make([]string, len(s.templates))
	for i, t := range s.templates {
		paths[i] = t.Path
	}
	i, err := choose(op, "template", name, paths)
	if err == nil {
		return s.templates[i], nil
	}
	if err.Kind == vsphere.KindNotFound && len(s.find(name)) > 0 {
		err = fail(vsphere.KindNotTemplate, op, fmt.Sprintf("%q is an ordinary VM", name))
	}
	return vsphere.Template{}, err
}

// Templates returns all templates: see vsphere.Server.
func (s *Server) Templates() ([]vsphere.Template, error) {
	s.mu.Lock()
	defer s.unlock()
	if s.unread {
		return nil, fail(vsphere.KindTransient, "list templates", "vCenter's templates have not been read yet")
	}
	return slices.SortedFunc(slices.Values(s.templates), func(a, b vsphere.Template) int { return strings.Compare(a.Path, b.Path) }), nil
}

// Placement finds the location of new VMs: see vsphere.Server. With neither a name nor a default, it uses the first
// resource pool.
func (s *Server) Placement(p vsphere.Placement) (vsphere.ResolvedPlacement, error) {
	s.mu.Lock()
	defer s.unlock()
	const op = "find the placement"
	if s.unread {
		return vsphere.ResolvedPlacement{}, fail(vsphere.KindTransient, op, "vCenter's places have not been read yet")
	}
	var out vsphere.ResolvedPlacement
	for _, f := range []struct {
		kind       PlaceKind
		name, dflt string
		ref        *vsphere.Ref
		path       *string
	}{
		{ResourcePool, p.ResourcePool, s.opt.Defaults.ResourcePool, &out.ResourcePool, &out.ResourcePoolPath},
		{Datastore, p.Datastore, s.opt.Defaults.Datastore, &out.Datastore, &out.DatastorePath},
		{Network, p.Network, s.opt.Defaults.Network, &out.Network, &out.NetworkPath},
	} {
		name := f.name
		if name == "" {
			name = f.dflt
		}
		places := s.places[f.kind]
		if name == "" && f.kind == ResourcePool {
			name = places[0].path
		}
		if name == "" {
			continue
		}
		paths := make([]string, len(places))
		for i := range places {
			paths[i] = places[i].path
		}
		i, err := choose(op, string(f.kind), name, paths)
		if err != nil {
			return vsphere.ResolvedPlacement{}, err
		}
		*f.ref, *f.path = places[i].ref, places[i].path
	}
	return out, nil
}

// choose returns the index of the path that a name refers to.
func choose(op, kind, name string, paths []string) (int, *vsphere.Error) {
	var found, exact []int
	for i, path := range paths {
		switch inventoryname.Refer(name, path) {
		case inventoryname.Whole:
			return i, nil
		case inventoryname.Exact:
			exact = append(exact, i)
			found = append(found, i)
		case inventoryname.Loose:
			found = append(found, i)
		case inventoryname.None:
		}
	}
	if len(exact) == 1 {
		return exact[0], nil
	}
	switch len(found) {
	case 0:
		return 0, fail(vsphere.KindNotFound, op, fmt.Sprintf("there is no %s %q", kind, name))
	case 1:
		return found[0], nil
	}
	return 0, fail(vsphere.KindAmbiguous, op, fmt.Sprintf("%d %ss are meant by %q", len(found), kind, name))
}
