package govmomi

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// vCenter answers for each nonexistent object separately, so a member that invents references must not come first.
func TestMembersTakeTurnsWithWhatIsLookedUpForThem(t *testing.T) {
	s := &Server{sought: map[vsphere.Ref]string{}, index: inventory.New(inventory.Config{Now: time.Now}), confirmKick: make(chan struct{}, 1)}
	madeUp := make([]vsphere.Ref, 0, 1200)
	for i := range cap(madeUp) {
		madeUp = append(madeUp, vsphere.VMRef(fmt.Sprintf("vm-%d", i)))
	}
	honest := vsphere.VMRef("vm-honest")
	s.seek("attacker", madeUp)
	s.seek("victim", []vsphere.Ref{honest, madeUp[0]})
	if at := slices.Index(s.pending(), lookUp{honest, "victim"}); at < 0 || at > 1 {
		t.Errorf("the victim's VM is looked up after %d others", at)
	}
	if s.unseek(madeUp); !slices.Equal(s.pending(), []lookUp{{honest, "victim"}}) {
		t.Errorf("%d objects are looked up that no group knows any more", len(s.pending())-1)
	}
}
