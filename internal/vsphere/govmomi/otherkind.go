package govmomi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Kinds of objects that users confuse with places.
const (
	kindTemplate  = "template"
	kindDatastore = "datastore"
	kindNetwork   = "network"
	kindPool      = "resource pool"
	kindPod       = "datastore cluster"
	kindSwitch    = "distributed switch"
	kindUplinks   = "uplink port group"
	kindFolder    = "folder"

	// maxInstead limits the number of paths in a message.
	maxInstead = 3

	propUplinks    = "config.uplinkPortgroup"
	propPortgroups = "portgroup"
	typeStoragePod = "StoragePod"
	typeSwitchEnd  = "DistributedVirtualSwitch"
	typeDatastore  = "Datastore"
	typePool       = "ResourcePool"
	typePortgroup  = "DistributedVirtualPortgroup"
	typeNetwork    = "Network"
	typeOpaque     = "OpaqueNetwork"
)

// otherKind is an object that users name as a place but that is none.
type otherKind struct {
	path, kind string
	// instead are the paths of valid alternatives.
	instead []string
}

// OtherKindError reports that a name belongs to an object of another kind.
type OtherKindError struct {
	// Path of the object, its kind (Is), and the Wanted kind.
	Path, Is, Wanted string
	// Instead are paths of alternatives. It can be empty.
	Instead []string
}

func (e *OtherKindError) Error() string {
	var said strings.Builder
	fmt.Fprintf(&said, "%s is a %s", untrusted.Name(e.Path), e.Is)
	if e.Is == kindUplinks {
		said.Reset()
		fmt.Fprintf(&said, "%s is an %s, which connects a switch with its hosts", untrusted.Name(e.Path), e.Is)
	}
	what := map[string]string{kindPod: "one of its datastores", kindSwitch: "one of its port groups", kindUplinks: "another port group of its switch"}[e.Is]
	switch {
	case what == "":
		fmt.Fprintf(&said, " and no %s; name a %s", e.Wanted, e.Wanted)
	case len(e.Instead) == 0:
		fmt.Fprintf(&said, "; name %s, once it has one", what)
	default:
		names := make([]string, 0, maxInstead)
		for _, path := range e.Instead[:min(len(e.Instead), maxInstead)] {
			names = append(names, untrusted.Name(path))
		}
		fmt.Fprintf(&said, "; name %s, for example %s", what, strings.Join(names, ", "))
	}
	return said.String()
}

// explain replaces the error about a missing place if an object of another kind has that name.
func (c *content) explain(err error, wanted, name string) error {
	if vsphere.KindOf(err) != vsphere.KindNotFound || name == "" {
		return err
	}
	others := slices.Clone(c.others)
	for _, of := range []struct {
		kind   string
		places []place
	}{{kindDatastore, c.datastores}, {kindNetwork, c.networks}, {kindPool, c.pools}} {
		for _, p := range of.places {
			others = append(others, otherKind{path: p.path, kind: of.kind})
		}
	}
	for _, o := range others {
		if o.kind != wanted && matches(name, o.path) {
			return &vsphere.Error{Kind: vsphere.KindNotFound, Op: fmt.Sprintf("find %s %q", wanted, name),
				Err: &OtherKindError{Path: o.path, Is: o.kind, Wanted: wanted, Instead: o.instead}}
		}
	}
	return err
}

// readPlaces separates places from objects that users confuse with them. objects are all that was read, and path returns their paths. The compute
// resources must be read before.
func (c *content) readPlaces(objects []object, path func(vsphere.Ref) string) {
	uplinks := map[vsphere.Ref]bool{}
	for _, o := range objects {
		for _, ref := range o.refsOf(propUplinks) {
			uplinks[ref] = true
		}
	}
	groups := func(of object) (paths []string) {
		for _, ref := range of.refsOf(propPortgroups) {
			if !uplinks[ref] {
				paths = append(paths, path(ref))
			}
		}
		slices.Sort(paths)
		return paths
	}
	instead := map[vsphere.Ref][]string{}
	for _, o := range objects {
		if strings.HasSuffix(o.ref.Type, typeSwitchEnd) {
			c.others = append(c.others, otherKind{path(o.ref), kindSwitch, groups(o)})
			for _, ref := range o.refsOf(propUplinks) {
				instead[ref] = groups(o)
			}
		}
	}
	for _, o := range objects {
		p := place{ref: o.ref, path: path(o.ref)}
		switch o.ref.Type {
		case typePool:
			_, p.root = c.computes[o.refOf(propParent)]
			p.compute = o.refOf(propOwner)
			c.pools = append(c.pools, p)
		case typeDatastore:
			c.datastores = append(c.datastores, p)
		case typeNetwork, typePortgroup, typeOpaque:
			if uplinks[o.ref] {
				c.others = append(c.others, otherKind{p.path, kindUplinks, instead[o.ref]})
				continue
			}
			c.networks = append(c.networks, p)
		case typeStoragePod:
			var in []string
			for _, d := range objects {
				if d.ref.Type == typeDatastore && d.refOf(propParent) == o.ref {
					in = append(in, path(d.ref))
				}
			}
			slices.Sort(in)
			c.others = append(c.others, otherKind{p.path, kindPod, in})
		case vsphere.TypeFolder:
			c.others = append(c.others, otherKind{p.path, kindFolder, nil})
		}
	}
}
