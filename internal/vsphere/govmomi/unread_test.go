package govmomi

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

func TestOnlyAKnownVMWithoutConfigurationMakesAnObservationIncomplete(t *testing.T) {
	dark := func(name string) vsphere.VM { return vsphere.VM{Ref: vsphere.VMRef(name), Name: name} }
	g := inventory.Group{Unread: []vsphere.VM{dark("recorded"), dark("stranger"), dark("cloning")}}
	known, unknown := unread(g, []vsphere.Ref{vsphere.VMRef("recorded")}, map[string]bool{"cloning": true})
	if len(known) != 1 || known[0].Name != "recorded" || len(unknown) != 1 || unknown[0].Name != "stranger" {
		t.Fatalf("known %v, unknown %v", known, unknown)
	}
	if complete, why := conclusive(g, known); complete || !strings.Contains(why, "recorded") {
		t.Errorf("complete %v: %s", complete, why)
	}
	if complete, why := conclusive(g, nil); !complete {
		t.Errorf("a VM that nobody knows hides the others: %s", why)
	}
}
