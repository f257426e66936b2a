package govmomi

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	needs "github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	propClusterConfig    = "configurationEx"
	propDatastoreSummary = "summary"
)

// findPlaces finds the datacenter, the root folder, and the templates and places of VMs, with the operator's own code.
func (s *surveyor) findPlaces(ctx context.Context) bool {
	f := &survey.Places{}
	s.facts.Places = f
	var err error
	if s.conn.datacenter, err = findDatacenter(ctx, s.conn.client, s.o.Datacenter); err != nil {
		f.Problem = problemOf(err)
		return false
	}
	if err := s.findHome(ctx); err != nil {
		f.Problem = problemOf(translate("look for the root folder", err))
		return false
	}
	got, err := readCatalog(ctx, s.conn, s.o.TemplateFolders)
	if err != nil {
		f.Problem = problemOf(translate("read vCenter's templates and places", err))
		return false
	}
	s.server.cat.content = got
	f.Hosts, f.Pools, f.AllDatastores, f.AllNetworks, f.AllTemplates = 0, len(got.pools), len(got.datastores), len(got.networks), len(got.templates)
	for _, c := range got.computes {
		f.Hosts += len(c.hosts)
	}
	for path, ref := range got.unseen {
		f.Unseen = append(f.Unseen, survey.Unseen{Below: path, Ref: ref.String()})
	}
	slices.SortFunc(f.Unseen, func(a, b survey.Unseen) int { return strings.Compare(a.Below, b.Below) })
	placed, err := s.server.Placement(vsphere.Placement{})
	f.Placement = problemOf(err)
	var other *OtherKindError
	if errors.As(err, &other) {
		f.OtherKind = other.Is
	}
	if !s.chooseTemplates(got) {
		return false
	}
	s.readPlacement(ctx, got, placed)
	return true
}

// findHome finds the root folder, or the last existing folder on the way to it.
func (s *surveyor) findHome(ctx context.Context) error {
	c, f := s.conn, s.facts.Places
	s.above = []vsphere.Folder{{Ref: c.datacenter.vmFolder, Name: "vm", Path: c.datacenter.path + "/vm"}}
	root, err := s.server.namedRoot(ctx, c)
	if err != nil {
		return err
	}
	folder := s.above[0]
	for name := range strings.SplitSeq(strings.Trim(s.o.RootFolder, "/"), "/") {
		ref, err := findChild(ctx, c.client, folder.Ref, name)
		if err != nil {
			return err
		}
		if ref.Type != vsphere.TypeFolder {
			break
		}
		folder = vsphere.Folder{Ref: ref, Name: name, Parent: folder.Ref, Path: folder.Path + "/" + name}
		s.above = append(s.above, folder)
	}
	if f.FolderMade = !root.Ref.IsZero(); f.FolderMade && root.Ref != folder.Ref {
		folder = root
		s.above = append(s.above, root)
	}
	c.root, s.home, f.Folder = folder, folder.Ref, folder.Path
	return nil
}

// chooseTemplates selects the named templates, or all.
func (s *surveyor) chooseTemplates(got *content) bool {
	if len(s.o.Templates) == 0 {
		s.read = got.templates
		return true
	}
	for _, name := range s.o.Templates {
		if _, err := s.server.Template(name); err != nil {
			s.facts.Places.Problem = problemOf(err)
			return false
		}
		i, err := choose(kindTemplate, name, got.templatePaths())
		if err == nil {
			s.read = append(s.read, got.templates[i])
		}
	}
	return true
}

// readPlacement reads the locations of new VMs: those in the settings, or those of the templates.
func (s *surveyor) readPlacement(ctx context.Context, got *content, placed vsphere.ResolvedPlacement) {
	f := s.facts.Places
	pool, err := choosePool(s.o.ResourcePool, got.pools)
	of := compute{}
	if err == nil {
		f.Pool = survey.Object{Kind: needs.ResourcePool, Path: pool.path, Ref: pool.ref.String()}
		of = got.computes[pool.compute]
		f.Cluster = s.readCluster(ctx, got, pool.compute, of)
	}
	datastore, wanted := places(got.datastores, placed.Datastore, s.o.Datastore)
	if !wanted {
		datastore = s.ofTemplates(got.datastores, func(t templateEntry) []string { return t.Datastores })
	}
	for _, p := range datastore {
		f.Datastores = append(f.Datastores, s.readDatastore(ctx, p, of, wanted))
	}
	network, wanted := places(got.networks, placed.Network, s.o.Network)
	if !wanted {
		network = s.ofTemplates(got.networks, func(t templateEntry) []string { return t.Networks })
	}
	for _, p := range network {
		f.Networks = append(f.Networks, s.readNetwork(ctx, p, of, wanted))
	}
}

// places returns the place that was found by its name in the settings. wanted is true if the settings name one, found
// or not.
func places(all []place, found vsphere.Ref, name string) (out []place, wanted bool) {
	if name == "" {
		return nil, false
	}
	for _, p := range all {
		if p.ref == found {
			out = append(out, p)
		}
	}
	return out, true
}

// ofTemplates returns the places that templates use.
func (s *surveyor) ofTemplates(all []place, paths func(templateEntry) []string) (out []place) {
	for _, p := range all {
		if slices.ContainsFunc(s.read, func(t templateEntry) bool { return slices.Contains(paths(t), p.path) }) {
			out = append(out, p)
		}
	}
	return out
}

func (s *surveyor) readCluster(ctx context.Context, got *content, ref vsphere.Ref, of compute) *survey.Cluster {
	if ref.IsZero() || of.path == "" {
		return nil
	}
	c := &survey.Cluster{Path: of.path, Ref: ref.String(), Hosts: len(of.hosts), Single: ref.Type == typeCompute}
	for _, host := range of.hosts {
		if why := got.hosts[host]; why != "" {
			c.Away = append(c.Away, why)
		}
	}
	if c.Single {
		return c
	}
	o, err := exact(ctx, s.conn.client, ref, propClusterConfig)
	if err != nil {
		return c
	}
	config, ok := o.values[propClusterConfig].(types.ClusterConfigInfoEx)
	if !ok {
		return c
	}
	c.ConfigRead = true
	c.DRS, c.Automation = isTrue(config.DrsConfig.Enabled), string(config.DrsConfig.DefaultVmBehavior)
	c.HA, c.Admission = isTrue(config.DasConfig.Enabled), isTrue(config.DasConfig.AdmissionControlEnabled)
	return c
}

func isTrue(b *bool) bool { return b != nil && *b }

func (s *surveyor) readDatastore(ctx context.Context, p place, of compute, wanted bool) survey.Datastore {
	d := survey.Datastore{Object: survey.Object{Kind: needs.Datastore, Path: p.path, Ref: p.ref.String()}, Wanted: wanted}
	o, err := exact(ctx, s.conn.client, p.ref, propDatastoreSummary, propHosts)
	if err == nil {
		err = o.denied[propDatastoreSummary]
	}
	if err != nil {
		d.Unread = problemOf(err)
		return d
	}
	if summary, ok := o.values[propDatastoreSummary].(types.DatastoreSummary); ok {
		d.Capacity, d.Free, d.Accessible, d.Maintenance = summary.Capacity, summary.FreeSpace, summary.Accessible, summary.MaintenanceMode
	}
	mounts, ok := o.values[propHosts].(types.ArrayOfDatastoreHostMount)
	if !ok {
		return d
	}
	has := map[vsphere.Ref]bool{}
	for _, m := range mounts.DatastoreHostMount {
		if (m.MountInfo.Mounted == nil || *m.MountInfo.Mounted) && (m.MountInfo.Accessible == nil || *m.MountInfo.Accessible) {
			has[fromRef(m.Key)] = true
		}
	}
	d.Hosts, d.Lacks = s.among(of.hosts, has)
	return d
}

// among counts the hosts in a set, and names the other hosts.
func (s *surveyor) among(hosts []vsphere.Ref, has map[vsphere.Ref]bool) (n int, lacks []string) {
	for _, host := range hosts {
		if has[host] {
			n++
		} else {
			lacks = append(lacks, host.Value)
		}
	}
	return n, lacks
}

func (s *surveyor) readNetwork(ctx context.Context, p place, of compute, wanted bool) survey.Network {
	n := survey.Network{Object: survey.Object{Kind: needs.Network, Path: p.path, Ref: p.ref.String()}, Wanted: wanted, Distributed: p.ref.Type == typePortgroup}
	o, err := exact(ctx, s.conn.client, p.ref, propHosts)
	if err != nil {
		n.Unread = problemOf(err)
		return n
	}
	if o.has(propHosts) {
		has := map[vsphere.Ref]bool{}
		for _, host := range o.refsOf(propHosts) {
			has[host] = true
		}
		n.Hosts, n.Lacks = s.among(of.hosts, has)
	}
	if !n.Distributed {
		return n
	}
	_, err = s.server.portgroupBacking(ctx, s.conn, p.ref)
	var hidden *HiddenSwitchError
	switch {
	case errors.As(err, &hidden):
		n.SwitchHidden = true
		n.Switch = survey.Object{Kind: needs.Switch}
		if !hidden.Switch.IsZero() {
			n.Switch.Ref = hidden.Switch.String()
		}
	case err != nil:
		n.Unread = problemOf(err)
	default:
		if group, err := exact(ctx, s.conn.client, p.ref, propSwitch); err == nil {
			n.Switch = survey.Object{Kind: needs.Switch, Ref: group.refOf(propSwitch).String()}
		}
	}
	return n
}
