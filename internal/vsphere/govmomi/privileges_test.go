package govmomi_test

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestWhatIsMissingOnTheRootFolderIsWhatTheListSaysOfIt: a VCenter is Ready even if its account lacks
// privileges that the documentation requires elsewhere, or for some groups only.
func TestWhatIsMissingOnTheRootFolderIsWhatTheListSaysOfIt(t *testing.T) {
	lost := []string{vsphere.PrivilegeMemory, vsphere.PrivilegeDevices, "Datastore.AllocateSpace", "VirtualMachine.Config.AddNewDisk"}
	r := newRig(t, govmomi.Watch, func(o *sim.Options, _ *govmomi.Config) {
		o.Privileges = slices.DeleteFunc(slices.Clone(sim.OperatorPrivileges), func(p string) bool { return slices.Contains(lost, p) })
	}).connected()
	want := slices.DeleteFunc(slices.Clone(lost), func(p string) bool {
		return !slices.Contains(privileges.On(privileges.RootFolder, privileges.Always), p)
	})
	slices.Sort(want)
	if missing := r.server.Health().MissingPrivileges; len(want) != 2 || !slices.Equal(missing, want) {
		t.Errorf("missing are %v, want %v", missing, want)
	}
}
