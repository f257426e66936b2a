package govmomi

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

// A user takes ownership of a released VM by removing its mark. The size of its disk stays.
func TestAVMWithTheSizesOfItsDisksAloneIsNotMarked(t *testing.T) {
	for _, key := range inventory.Keys {
		if got, want := marked(map[string]string{key: "1"}), key != inventory.KeyRootDisk && key != inventory.KeyDataDisks; got != want {
			t.Errorf("a VM with %s is marked: %t, want %t", key, got, want)
		}
	}
}
