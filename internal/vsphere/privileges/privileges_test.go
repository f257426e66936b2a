package privileges_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/privileges"
)

func TestEachPrivilegeIsListedOnceForEachObjectWithTheNameOfTheVSphereClient(t *testing.T) {
	t.Parallel()
	id := regexp.MustCompile(`^[A-Z][A-Za-z]+(\.[A-Z][A-Za-z]+)+$`)
	seen, names := map[[2]string]bool{}, map[string]string{}
	for _, p := range privileges.All() {
		key := [2]string{p.ID, string(p.Object)}
		if seen[key] {
			t.Errorf("%s is listed twice on %s", p.ID, p.Object)
		}
		seen[key] = true
		if !id.MatchString(p.ID) || p.UIName == "" || p.Object.Words() == "" {
			t.Errorf("%+v lacks something", p)
		}
		if name, known := names[p.ID]; known && name != p.UIName {
			t.Errorf("%s is called %q and %q", p.ID, name, p.UIName)
		}
		names[p.ID] = p.UIName
		if p.Optional && p.Needed == privileges.Always {
			t.Errorf("%s on %s is optional and always needed", p.ID, p.Object)
		}
	}
	if len(names) < 20 {
		t.Errorf("the list has %d privileges", len(names))
	}
}

func TestTheListOfACallerIsACopy(t *testing.T) {
	t.Parallel()
	privileges.All()[0].ID = "changed"
	if privileges.All()[0].ID == "changed" {
		t.Error("a caller changes the list of all")
	}
}

func TestPrivilegesByConditionAndByObject(t *testing.T) {
	t.Parallel()
	for needed, want := range map[string][]string{
		privileges.ForNetworks: {vsphere.PrivilegeDevices},
		privileges.ForSwitches: nil, // every role has it
		privileges.ForAdoption: {"VirtualMachine.Config.Rename", "VirtualMachine.Inventory.Move"},
		privileges.ForSessions: {vsphere.PrivilegeSessions},
	} {
		if got := privileges.For(needed); !slices.Equal(got, want) {
			t.Errorf("if %s: %v, want %v", needed, got, want)
		}
	}
	always := privileges.For(privileges.Always)
	if !slices.IsSorted(always) || slices.Contains(always, vsphere.PrivilegeRead) || !slices.Contains(always, "Network.Assign") {
		t.Errorf("always: %v", always)
	}
	if got := privileges.On(privileges.Root, privileges.Always); !slices.Equal(got, []string{vsphere.PrivilegeRead}) {
		t.Errorf("on the root: %v", got)
	}
	if got := privileges.On(privileges.RootFolder, privileges.Always); !slices.IsSorted(got) || slices.Contains(got, "Network.Assign") || len(got) < 10 {
		t.Errorf("on the root folder: %v", got)
	}
}

// An account with the documented roles has all privileges that an ordinary group needs.
func TestTheRolesServeWhatIsAlwaysNeededAndNetworks(t *testing.T) {
	t.Parallel()
	roles := privileges.Roles()
	if len(roles) != 2 || roles[0].Name != privileges.RoleName || roles[1].Name != privileges.RootRoleName {
		t.Fatalf("the roles are %+v", roles)
	}
	granted := slices.Concat(roles[0].Privileges, roles[1].Privileges)
	want := slices.Concat(privileges.For(privileges.Always), privileges.For(privileges.ForNetworks), privileges.For(privileges.ForSessions))
	slices.Sort(granted)
	slices.Sort(want)
	if !slices.Equal(granted, want) {
		t.Errorf("the roles grant\n%v\nwant\n%v", granted, want)
	}
	if slices.ContainsFunc(granted, func(id string) bool { return strings.HasPrefix(id, "System.") }) {
		t.Errorf("a role cannot be given %v", granted)
	}
}

// With the privileges in Extra, the account can do everything.
func TestRolesAndExtrasAreTheWholeList(t *testing.T) {
	t.Parallel()
	granted := map[string]int{vsphere.PrivilegeRead: 1}
	for _, role := range privileges.Roles() {
		for _, id := range role.Privileges {
			granted[id]++
		}
	}
	for _, p := range privileges.Extra() {
		if p.Needed == privileges.Always {
			t.Errorf("%s is always needed, and in no role", p.ID)
		}
		granted[p.ID]++
	}
	for _, p := range privileges.All() {
		if granted[p.ID] != 1 {
			t.Errorf("%s is granted %d times", p.ID, granted[p.ID])
		}
	}
}
