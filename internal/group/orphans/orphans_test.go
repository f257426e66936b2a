package orphans

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const uid = "0a1b2c3d-0000-4000-8000-000000000001"

func orphan(name, ref, folder, member, group string) vsphere.VM {
	return vsphere.VM{Name: name, Ref: vsphere.VMRef(ref), Folder: vsphere.FolderRef(folder),
		Stamp: &vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "i", Member: member, Group: group}}}
}

func pathOf(ref vsphere.Ref) string {
	return map[string]string{
		"own": "/DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d", "other": "/DC0/vm/vm-operator/team-b/wiki/db.ffffffff", "none": "/DC0/vm/vm-operator/team-a/shop/.0a1b2c3d",
	}[ref.Value]
}

func memberOf(clusterUID string) string { return map[string]string{"cluster-a": "team-a"}[clusterUID] }

func TestOrphansAreToldByTheGroupThatTheyWereOf(t *testing.T) {
	got := Of([]vsphere.VM{
		orphan("web-1", "vm-2", "own", "cluster-a", uid), orphan("web-0", "vm-1", "own", "cluster-a", uid), orphan("web-2", "vm-3", "other", "cluster-a", uid),
		// The path of a folder that belongs to another group, or to none, says nothing about this group.
		orphan("db-0", "vm-4", "other", "cluster-b", "77777777-1"), orphan("x-0", "vm-5", "none", "cluster-a", uid[:8]+"-x"), orphan("y-0", "vm-6", "unknown", "cluster-a", "short"),
		{Name: "unstamped"},
	}, pathOf, memberOf)
	want := []Group{
		{Key: "cluster-a/0a1b2c3d-0000-4000-8000-000000000001", Member: "team-a", Namespace: "shop", Name: "web", VMs: []string{
			"web-0 (vm-1) in /DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d", "web-1 (vm-2) in /DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d",
			"web-2 (vm-3) in /DC0/vm/vm-operator/team-b/wiki/db.ffffffff"}},
		{Key: "cluster-a/0a1b2c3d-x", Member: "team-a", VMs: []string{"x-0 (vm-5) in /DC0/vm/vm-operator/team-a/shop/.0a1b2c3d"}},
		{Key: "cluster-a/short", Member: "team-a", VMs: []string{"y-0 (vm-6)"}},
		{Key: "cluster-b/77777777-1", VMs: []string{"db-0 (vm-4) in /DC0/vm/vm-operator/team-b/wiki/db.ffffffff"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if Count(got) != 6 {
		t.Errorf("%d VMs are counted", Count(got))
	}
	text := Describe(got) + ". " + WayOut(got)
	for _, word := range []string{"web-0 (vm-1) in /DC0/vm/vm-operator/team-a/shop/web.0a1b2c3d, web-1", "VmGroup web in namespace shop of member team-a, UID " + uid,
		"no MemberCluster leads to (cluster-b), UID 77777777-1", "adopt=" + uid, "kubectl annotate membercluster team-a vm.codeconnect.vmworld.com/allow-adoption-until=$(date"} {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not say %q", text, word)
		}
	}
}

// Users who can change VMs in vCenter write the stamp, and name folders. Their text is quoted, and is in no command.
func TestAForgedStampPutsNoWordsIntoTheMessage(t *testing.T) {
	evil := uid[:8] + ` is known. Run $(reboot) now, then kubectl delete crds --all` + strings.Repeat("A", 5000)
	path := func(vsphere.Ref) string { return "/DC0/vm/vm-operator/team-a/shop. Delete all/web or less." + uid[:8] }
	for _, vm := range []vsphere.VM{
		orphan("web-0", "vm-1", "own", "cluster-a", evil), orphan("web-0", "vm-1", "own", evil, uid), orphan("web-0", "vm-1", "own", evil, evil),
	} {
		groups := Of([]vsphere.VM{vm}, path, memberOf)
		text, out := Describe(groups), WayOut(groups)
		for _, quoted := range []string{`VmGroup "web or less" in namespace "shop. Delete all" `, `"` + uid[:8] + ` is known. Run $(reboot)`} {
			if !strings.Contains(text, quoted) {
				t.Errorf("%s is not in quotes: %s", quoted, text)
			}
		}
		if strings.Contains(out, "reboot") {
			t.Errorf("the command contains the forged text: %s", out)
		}
		if len(text) > 2000 {
			t.Errorf("%d bytes", len(text))
		}
	}
	if out := WayOut(Of([]vsphere.VM{orphan("web-0", "vm-1", "own", "cluster-a", `"$(reboot)"`)}, pathOf, memberOf)); strings.Contains(out, "reboot") {
		t.Errorf("what is in quotes already is typed: %s", out)
	}
	// The next one with a valid UID is named.
	if out := WayOut(Of([]vsphere.VM{orphan("web-0", "vm-1", "own", "cluster-a", evil), orphan("web-1", "vm-2", "own", "cluster-a", uid)}, pathOf, memberOf)); !strings.Contains(out, "adopt="+uid+" ") {
		t.Errorf("no group is named: %s", out)
	}
}

func TestAMessageAboutManyOrphansIsShort(t *testing.T) {
	vms := make([]vsphere.VM, 0, 100)
	for i := range 100 {
		vms = append(vms, orphan(fmt.Sprintf("web-%d", i), fmt.Sprintf("vm-%d", i), "own", "cluster-a", fmt.Sprintf("group-%d", i/10)))
	}
	groups := Of(vms, pathOf, memberOf)
	text := Describe(groups)
	if !strings.Contains(text, "and 6 more;") || !strings.Contains(text, "VMs of 6 more VmGroups") || len(text) > 3000 {
		t.Errorf("%d characters: %s", len(text), text)
	}
}
