package govmomi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// place is a resource pool, datastore or network.
type place struct {
	ref  vsphere.Ref
	path string
	// root is true for a compute resource's own pool.
	root bool
	// compute is the compute resource of a resource pool.
	compute vsphere.Ref
}

// templateEntry is a template with the data that only cloning needs.
type templateEntry struct {
	vsphere.Template
	snapshot      vsphere.Ref
	changeVersion string
	// vApp is true for a template with vApp properties, such as one from an OVA.
	vApp bool
	// full and linked are the hardware of a full and of a linked clone.
	full, linked hardware
}

// content is one reading of the catalog. It is immutable once published.
type content struct {
	datacenter vsphere.Ref
	templates  []templateEntry
	// ordinary are the paths of VMs that are no templates. They distinguish the name of such a VM from a typing error.
	ordinary                    []string
	pools, datastores, networks []place
	computes                    map[vsphere.Ref]compute
	// hosts are those that cannot run a VM now, with the reason. A change of a host notifies no group: see hostsReady.
	hosts map[vsphere.Ref]string
	// others are objects that users name as a place but that are none.
	others []otherKind
	// unseen maps each template and place with a truncated path to the first object above it that the account cannot see.
	unseen map[string]vsphere.Ref
}

// catalog holds the templates and the places of VMs.
type catalog struct {
	cfg Config

	mu      sync.Mutex
	content *content
}

var (
	errCatalog        = errors.New("vCenter's templates have not been read yet")
	errNoneOfThatName = errors.New("vCenter has none of that name or inventory path that the operator may see; correct the name, or create it")
	errOrdinaryVM     = errors.New("that is an ordinary VM; mark a copy of it as template, or name another")
)

func newCatalog(cfg Config) *catalog { return &catalog{cfg: cfg} }

func (c *catalog) get() *content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.content
}

func (c *catalog) count() int {
	if got := c.get(); got != nil {
		return len(got.templates)
	}
	return 0
}

// mayHold reports whether an object can be a template of the catalog.
func (c *catalog) mayHold(ref vsphere.Ref) bool {
	got := c.get()
	return got == nil || ref.IsZero() || slices.ContainsFunc(got.templates, func(t templateEntry) bool { return t.Ref == ref })
}

// refs returns the templates with these names. If one name is unknown, it returns none: the template can have been renamed.
func (c *catalog) refs(names []string) map[vsphere.Ref]bool {
	got := c.get()
	if got == nil {
		return nil
	}
	refs := map[vsphere.Ref]bool{}
	for _, name := range names {
		i, err := choose("template", name, got.templatePaths())
		if err != nil {
			return nil
		}
		refs[got.templates[i].Ref] = true
	}
	return refs
}

// pathOf returns the inventory path of a template, or else its reference.
func (c *catalog) pathOf(ref vsphere.Ref) string {
	if got := c.get(); got != nil {
		for _, t := range got.templates {
			if t.Ref == ref {
				return t.Path
			}
		}
	}
	return ref.Value
}

// networkPath returns the inventory path of a network, or "".
func (c *catalog) networkPath(ref vsphere.Ref) string {
	if got := c.get(); got != nil {
		if i := slices.IndexFunc(got.networks, func(p place) bool { return p.ref == ref }); i >= 0 {
			return got.networks[i].path
		}
	}
	return ""
}

func (c *content) templatePaths() []string {
	paths := make([]string, len(c.templates))
	for i := range c.templates {
		paths[i] = c.templates[i].Path
	}
	return paths
}

// Template finds a template by name or inventory path: see vsphere.Server.
func (s *Server) Template(name string) (vsphere.Template, error) {
	op := fmt.Sprintf("find template %q", name)
	got := s.cat.get()
	if got == nil {
		return vsphere.Template{}, &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: errCatalog}
	}
	i, err := choose("template", name, got.templatePaths())
	if err == nil {
		return got.templates[i].Template, nil
	}
	if vsphere.KindOf(err) == vsphere.KindNotFound {
		s.lookFor(kindTemplate, name)
		if s.index.Named(name) || slices.ContainsFunc(got.ordinary, func(path string) bool { return matches(name, path) }) {
			return vsphere.Template{}, &vsphere.Error{Kind: vsphere.KindNotTemplate, Op: op, Err: errOrdinaryVM}
		}
		err = got.explainUnseen(err, kindTemplate, name, got.templatePaths())
	}
	return vsphere.Template{}, err
}

// Templates returns all templates: see vsphere.Server.
func (s *Server) Templates() ([]vsphere.Template, error) {
	got := s.cat.get()
	if got == nil {
		return nil, &vsphere.Error{Kind: vsphere.KindTransient, Op: "list templates", Err: errCatalog}
	}
	all := make([]vsphere.Template, len(got.templates))
	for i := range got.templates {
		all[i] = got.templates[i].Template
	}
	slices.SortFunc(all, func(a, b vsphere.Template) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// Placement finds the location for new VMs: see vsphere.Server.
func (s *Server) Placement(p vsphere.Placement) (vsphere.ResolvedPlacement, error) {
	const op = "find the placement"
	var out vsphere.ResolvedPlacement
	got := s.cat.get()
	if got == nil {
		return out, &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: errCatalog}
	}
	wanted := vsphere.Placement{
		ResourcePool: or(p.ResourcePool, s.cfg.ResourcePool), Datastore: or(p.Datastore, s.cfg.Datastore), Network: or(p.Network, s.cfg.Network),
	}
	pool, err := choosePool(wanted.ResourcePool, got.pools)
	if err != nil {
		return vsphere.ResolvedPlacement{}, s.notFound(got, err, kindPool, wanted.ResourcePool, got.pools)
	}
	out.ResourcePool, out.ResourcePoolPath = pool.ref, pool.path
	if out.Datastore, out.DatastorePath, err = chooseOptional(kindDatastore, wanted.Datastore, got.datastores); err != nil {
		return vsphere.ResolvedPlacement{}, s.notFound(got, err, kindDatastore, wanted.Datastore, got.datastores)
	}
	if out.Network, out.NetworkPath, err = chooseOptional(kindNetwork, wanted.Network, got.networks); err != nil {
		return vsphere.ResolvedPlacement{}, s.notFound(got, err, kindNetwork, wanted.Network, got.networks)
	}
	out.Compute = got.computeOf(pool.compute)
	return out, got.reaches(pool, out)
}

// notFound adds an explanation to the error about a place. If the place is missing, it starts a search for it.
func (s *Server) notFound(got *content, err error, kind, name string, places []place) error {
	if vsphere.KindOf(err) != vsphere.KindNotFound {
		return err
	}
	s.lookFor(kind, name)
	return got.explainUnseen(got.explain(err, kind, name), kind, name, pathsOf(places))
}

func pathsOf(places []place) []string {
	paths := make([]string, len(places))
	for i := range places {
		paths[i] = places[i].path
	}
	return paths
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// choosePool finds a pool by name, path or end of a path. DC0_C0 names the pool of the cluster DC0_C0. Without a name, it returns the root pool of
// the only compute resource.
func choosePool(want string, pools []place) (place, error) {
	candidates := pools
	if want == "" {
		candidates = slices.DeleteFunc(slices.Clone(pools), func(p place) bool { return !p.root })
	}
	paths := pathsOf(candidates)
	i, err := choose("resource pool", want, paths)
	if vsphere.KindOf(err) == vsphere.KindNotFound && want != "" {
		if j, again := choose("resource pool", want+"/Resources", paths); again == nil {
			i, err = j, nil
		}
	}
	if err != nil {
		return place{}, err
	}
	return candidates[i], nil
}

func chooseOptional(kind, want string, places []place) (vsphere.Ref, string, error) {
	if want == "" {
		return vsphere.Ref{}, "", nil
	}
	i, err := choose(kind, want, pathsOf(places))
	if err != nil {
		return vsphere.Ref{}, "", err
	}
	return places[i].ref, places[i].path, nil
}

// matches reports whether a name refers to an inventory path.
func matches(want, path string) bool { return inventoryname.Refer(want, path) != inventoryname.None }

// choose returns the index of the one path that a name refers to. Without a name, it returns the only path. An exact match has priority over others.
// If several paths match exactly, for example because a text is both a name and a path, the result is ambiguous. The error is a *vsphere.Error that
// is fit for a condition.
func choose(kind, want string, paths []string) (int, error) {
	op := fmt.Sprintf("find %s %q", kind, want)
	if want == "" {
		op = "find the only " + kind
	}
	var found, exact []int
	for i, path := range paths {
		match := inventoryname.Refer(want, path)
		switch {
		case match == inventoryname.Whole:
			return i, nil
		case match == inventoryname.Exact:
			exact = append(exact, i)
		case match == inventoryname.None && want != "":
			continue
		}
		found = append(found, i)
	}
	if len(exact) == 1 {
		return exact[0], nil
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, &vsphere.Error{Kind: vsphere.KindNotFound, Op: op, Err: errNoneOfThatName}
	}
	if len(exact) > 0 {
		found = exact
	}
	names := make([]string, 0, len(found))
	for _, i := range found[:min(len(found), 5)] {
		names = append(names, untrusted.Name(paths[i]))
	}
	return 0, &vsphere.Error{Kind: vsphere.KindAmbiguous, Op: op, Err: fmt.Errorf(
		"there are %d, for example %s; give the inventory path of one", len(found), strings.Join(names, ", "))}
}
