package govmomi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	typeCompute = "ComputeResource"
	typeCluster = "ClusterComputeResource"
	typeHost    = "HostSystem"

	propDatastores  = "datastore"
	propNetworks    = "network"
	propHosts       = "host"
	propDRS         = "configuration.drsConfig.enabled"
	propOwner       = "owner"
	propHost        = "runtime.host"
	propMaintenance = "runtime.inMaintenanceMode"
	propHostState   = "runtime.connectionState"
)

var hostStateProperties = []string{propMaintenance, propHostState}

// compute is a cluster, or a host outside of any cluster, with the objects that its hosts reach. A list is empty if vCenter does not show it.
type compute struct {
	path                        string
	datastores, networks, hosts []vsphere.Ref
	// drs is true for a cluster in which DRS places VMs.
	drs bool
}

// readComputes reads the compute resources with their datastores and networks.
func (c *content) readComputes(objects []object, path func(vsphere.Ref) string) {
	c.computes, c.hosts = map[vsphere.Ref]compute{}, map[vsphere.Ref]string{}
	for _, o := range objects {
		switch {
		case strings.HasSuffix(o.ref.Type, typeCompute):
			c.computes[o.ref] = compute{
				path: path(o.ref), datastores: sorted(o.refsOf(propDatastores)), networks: sorted(o.refsOf(propNetworks)), hosts: sorted(o.refsOf(propHosts)),
				drs: o.yes(propDRS),
			}
		case o.ref.Type == typeHost:
			if why := hostAway(o); why != "" {
				c.hosts[o.ref] = untrusted.Name(path(o.ref)) + " " + why
			}
		}
	}
}

func sorted(refs []vsphere.Ref) []vsphere.Ref {
	slices.SortFunc(refs, func(a, b vsphere.Ref) int { return strings.Compare(a.String(), b.String()) })
	return refs
}

// hostAway returns the reason why a host cannot run a VM now, or "". A property that vCenter does not show is no reason.
func hostAway(o object) string {
	switch state := o.text(propHostState); {
	case state == string(types.HostSystemConnectionStateDisconnected):
		return "is disconnected from vCenter"
	case state == string(types.HostSystemConnectionStateNotResponding):
		return "does not respond to vCenter"
	case o.yes(propMaintenance):
		return "is in maintenance mode"
	}
	return ""
}

// computeOf returns a compute resource in the form for callers.
func (c *content) computeOf(ref vsphere.Ref) vsphere.Compute {
	of, known := c.computes[ref]
	if !known {
		return vsphere.Compute{}
	}
	out := vsphere.Compute{Path: of.path}
	for _, d := range c.datastores {
		if slices.Contains(of.datastores, d.ref) {
			out.Datastores = append(out.Datastores, d.path)
		}
	}
	return out
}

// UnreachableError reports that no host of a resource pool reaches a datastore or network.
type UnreachableError struct {
	// Kind and Path of the place, and the Compute resource of the pool.
	Kind, Path, Compute string
	// Instead are paths of places that these hosts reach. It can be empty.
	Instead []string
}

func (e *UnreachableError) Error() string {
	said := fmt.Sprintf("no host of %s, where the resource pool is, has %s %s", untrusted.Name(e.Compute), e.Kind, untrusted.Name(e.Path))
	names := make([]string, 0, maxInstead)
	for _, path := range e.Instead[:min(len(e.Instead), maxInstead)] {
		names = append(names, untrusted.Name(path))
	}
	if len(names) == 0 {
		return said + "; name another resource pool"
	}
	return fmt.Sprintf("%s; name another %s, for example %s, or another resource pool", said, e.Kind, strings.Join(names, ", "))
}

// reaches refuses a datastore or network that does not fit the resource pool.
func (c *content) reaches(pool place, p vsphere.ResolvedPlacement) error {
	of := c.computes[pool.compute]
	for _, wanted := range []struct {
		kind, path string
		ref        vsphere.Ref
		there      []vsphere.Ref
		places     []place
	}{{kindDatastore, p.DatastorePath, p.Datastore, of.datastores, c.datastores}, {kindNetwork, p.NetworkPath, p.Network, of.networks, c.networks}} {
		if wanted.ref.IsZero() || len(wanted.there) == 0 || slices.Contains(wanted.there, wanted.ref) {
			continue
		}
		e := &UnreachableError{Kind: wanted.kind, Path: wanted.path, Compute: of.path}
		for _, other := range wanted.places {
			if slices.Contains(wanted.there, other.ref) {
				e.Instead = append(e.Instead, other.path)
			}
		}
		return &vsphere.Error{Kind: vsphere.KindSpec, Op: "use the placement", Object: wanted.ref, Err: e}
	}
	return nil
}

// hostsReady refuses a clone while the template's host, or every host of the pool, cannot run a VM. The catalog is minutes old, so hostsReady reads
// unavailable hosts again. A clone whose hosts were available costs no call.
func (s *Server) hostsReady(ctx context.Context, c *connection, req vsphere.CloneRequest) error {
	got := s.cat.get()
	if got == nil {
		return nil
	}
	host := vsphere.Ref{Type: typeHost, Value: req.Template.Host}
	var hosts []vsphere.Ref
	if i := slices.IndexFunc(got.pools, func(p place) bool { return p.ref == req.Placement.ResourcePool }); i >= 0 {
		hosts = got.computes[got.pools[i].compute].hosts
	}
	away := func(ref vsphere.Ref) bool { return got.hosts[ref] != "" }
	ofTemplate, ofPool := away(host), len(hosts) > 0 && !slices.ContainsFunc(hosts, func(ref vsphere.Ref) bool { return !away(ref) })
	var ask []vsphere.Ref
	if ofTemplate {
		ask = append(ask, host)
	}
	if ofPool {
		ask = append(ask, hosts...)
	}
	if len(ask) == 0 {
		return nil
	}
	objects, err := existing(ctx, c.client, ask, types.PropertySpec{Type: typeHost, PathSet: hostStateProperties})
	if err != nil {
		return readOnlyError(err)
	}
	now := map[vsphere.Ref]string{}
	for _, o := range objects {
		now[o.ref] = hostAway(o)
	}
	refuse := func(format string, args ...any) error {
		return &vsphere.Error{Kind: vsphere.KindCapacity, Op: "look for a host", Err: fmt.Errorf(format, args...)}
	}
	if ofTemplate && now[host] != "" {
		return refuse("the template is registered on a host that cannot copy it: %s; bring that host back, or move the template to another one", got.hosts[host])
	}
	if ofPool && !slices.ContainsFunc(hosts, func(ref vsphere.Ref) bool { return now[ref] == "" }) {
		return refuse("no host of the resource pool can run a VM: for example, %s; bring a host back", got.hosts[hosts[0]])
	}
	return nil
}
