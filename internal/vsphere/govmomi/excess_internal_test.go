package govmomi

import (
	"errors"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

func TestAServerThatSentTooMuchIsLeftAloneForAWhile(t *testing.T) {
	limit := &vsphere.Error{Kind: vsphere.KindLimitExceeded, Err: &session.LimitError{Method: "Login"}}
	for _, err := range []error{limit, translate("list folder /DC0/vm/a", limit)} {
		if got := leastWait(err); got != retryLast {
			t.Errorf("after %v it is left alone for %s, want %s", err, got, retryLast)
		}
	}
	if got := leastWait(errors.New("connection refused")); got != 0 {
		t.Errorf("a broken connection is waited for: %s", got)
	}
}

func TestATextThatIsKeptForEachVMIsShort(t *testing.T) {
	o := object{values: map[string]any{}}
	long := strings.Repeat("ä", 1<<20)
	for _, name := range []string{propName, propGuestIP, propInstanceUUID, propChangeVersion} {
		o.values[name] = long
	}
	vm := baseOf(o)
	for _, kept := range []string{vm.Name, vm.Addresses.Primary, vm.InstanceUUID, vm.ChangeVersion, folderOf(o).Name} {
		if len(kept) == 0 || len(kept) > longestKept {
			t.Errorf("%d bytes are kept", len(kept))
		}
	}
	if name := strings.Repeat("%2f", 80); shortened(name) != name {
		t.Error("a name that vCenter allows is cut")
	}
}
