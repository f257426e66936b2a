package govmomi_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestPlacesThatDoNotReachEachOtherAreSaidToBeThat(t *testing.T) {
	var pool string
	r := edited(t, func(r *rig) (err error) {
		pool, err = r.person.AddCluster(r.ctx, "C2", "far", t.TempDir())
		return err
	})
	for _, c := range []struct {
		story string
		give  vsphere.Placement
		want  string // empty for a compatible pair
	}{
		{"a datastore of the other cluster", vsphere.Placement{ResourcePool: pool, Datastore: "LocalDS_0"},
			"no host of /DC0/host/C2, where the resource pool is, has datastore /DC0/datastore/LocalDS_0; name another datastore, for example /DC0/datastore/far, or another resource pool"},
		{"a network of the other cluster", vsphere.Placement{ResourcePool: pool, Datastore: "far", Network: "DC0_DVPG0"},
			"no host of /DC0/host/C2, where the resource pool is, has network /DC0/network/DC0_DVPG0; name another network, for example \"/DC0/network/VM Network\", or another resource pool"},
		{"the other way round", vsphere.Placement{ResourcePool: "/DC0/host/DC0_C0/Resources", Datastore: "far"}, "no host of /DC0/host/DC0_C0, where the resource pool is, has datastore /DC0/datastore/far"},
		{"all in one cluster", vsphere.Placement{ResourcePool: pool, Datastore: "far", Network: "VM Network"}, ""},
	} {
		got, err := r.server.Placement(c.give)
		if c.want == "" {
			must(t, err)
			if got.Compute.Path != "/DC0/host/C2" || !slices.Equal(got.Compute.Datastores, []string{"/DC0/datastore/far"}) {
				t.Errorf("%s: the pool is in %+v", c.story, got.Compute)
			}
			continue
		}
		wantKind(t, err, vsphere.KindSpec)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.story, err, c.want)
		}
		if got.ResourcePool.IsZero() || got.Datastore.IsZero() {
			t.Errorf("%s: the places are not returned, so that grants cannot be checked: %+v", c.story, got)
		}
	}
}

func TestACloneWaitsForAHostWithoutATask(t *testing.T) {
	const cluster = "/DC0/host/DC0_C0/"
	r := edited(t, func(r *rig) error { return r.person.Maintenance(r.ctx, cluster+r.templateHost(), true) })
	host := r.templateHost()
	refused := func(ordinal int32) error {
		t.Helper()
		err := r.server.Clone(r.ctx, r.request(ordinal))
		wantKind(t, err, vsphere.KindCapacity)
		return err
	}
	if err := refused(0); !strings.Contains(err.Error(), cluster+host+" is in maintenance mode; bring that host back, or move the template") {
		t.Errorf("the error is %q", err)
	}
	if f := r.observe().Failures; len(f) != 1 || !f[0].RetryAt.After(f[0].At) {
		t.Errorf("failures are %+v, so that it is asked again at once", f)
	}
	if n := r.proxy.Count("CloneVM_Task", agent); n != 0 {
		t.Errorf("%d clones were submitted", n)
	}
	// The catalog still contains a host in maintenance mode.
	must(t, r.person.Maintenance(r.ctx, cluster+host, false))
	must(t, r.server.Clone(r.ctx, r.request(1)))
	r.settled(1)
}

func (r *rig) templateHost() string {
	r.t.Helper()
	vm, err := newFinder(r).VirtualMachine(r.ctx, templatePath)
	must(r.t, err)
	host, err := vm.HostSystem(r.ctx)
	must(r.t, err)
	name, err := host.ObjectName(r.ctx)
	must(r.t, err)
	return name
}
