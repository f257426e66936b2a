package govmomi_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
)

// hidden is a rig whose account has no role on an object, but has one on its children.
func hidden(t *testing.T, find func(*rig) types.ManagedObjectReference) (*rig, types.ManagedObjectReference) {
	t.Helper()
	r := newRig(t, govmomi.Watch)
	r.stop()
	ref := find(r)
	r.sim.Hide(ref)
	r.start()
	return r.connected(), ref
}

func TestAPoolBelowAClusterThatIsHiddenIsNamedWithThePrivilege(t *testing.T) {
	r, cluster := hidden(t, func(r *rig) types.ManagedObjectReference {
		c, err := newFinder(r).ClusterComputeResource(r.ctx, "/DC0/host/DC0_C0")
		must(t, err)
		return c.Reference()
	})
	for _, name := range []string{"", "DC0_C0", "DC0_C0/Resources", "/DC0/host/DC0_C0/Resources"} {
		_, err := r.server.Placement(vsphere.Placement{ResourcePool: name})
		wantKind(t, err, vsphere.KindPermission)
		if !strings.Contains(err.Error(), cluster.String()) || !strings.Contains(err.Error(), "give the account the role Read-only (privilege System.Read) there") {
			t.Errorf("%q: %v", name, err)
		}
	}
	got, err := r.server.Placement(vsphere.Placement{ResourcePool: "Resources"})
	if err != nil || got.ResourcePoolPath != "/DC0/…/Resources" {
		t.Errorf("by its own name: %+v, %v", got, err)
	}
}

func TestATemplateInAFolderThatIsHiddenHasNoPath(t *testing.T) {
	r, _ := hidden(t, func(r *rig) types.ManagedObjectReference {
		must(t, r.person.CreateFolders(r.ctx, "/DC0/vm/golden"))
		must(t, r.person.AddTemplate(r.ctx, "/DC0/vm/golden", "debian"))
		f, err := newFinder(r).Folder(r.ctx, "/DC0/vm/golden")
		must(t, err)
		return f.Reference()
	})
	got, err := r.server.Template("debian")
	if err != nil || got.Path != "/DC0/…/debian" {
		t.Errorf("by name: %+v, %v", got, err)
	}
	_, err = r.server.Template("/DC0/vm/golden/debian")
	wantKind(t, err, vsphere.KindPermission)
}
