package vsphere_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestTheAddressOfAGuestIsOneThatOthersReach(t *testing.T) {
	t.Parallel()
	on := func(device int32, addresses ...string) vsphere.GuestInterface {
		return vsphere.GuestInterface{Device: device, Addresses: addresses}
	}
	const bridge, link = "172.17.0.1", "fe80::250:56ff:fe00:1"
	for _, c := range []struct {
		story, primary string
		interfaces     []vsphere.GuestInterface
		want           string
	}{
		{"only what Tools take for it", "10.0.0.5", nil, "10.0.0.5"},
		{"nothing", "", nil, ""},
		{"link-local", link, nil, ""},
		{"link-local with a zone", link + "%ens192", nil, ""},
		{"no DHCP", "169.254.3.4", []vsphere.GuestInterface{on(4000, "169.254.3.4", link)}, ""},
		{"loopback", "127.0.0.1", nil, ""},
		{"no address at all", "not an address", nil, ""},
		{"a bridge for containers while there is no other", bridge, []vsphere.GuestInterface{on(-1, bridge), on(4000, link)}, ""},
		{"a bridge for containers", bridge, []vsphere.GuestInterface{on(-1, bridge), on(4000, link, "10.0.0.5")}, "10.0.0.5"},
		{"the first adapter", "10.1.0.5", []vsphere.GuestInterface{on(4001, "10.1.0.5"), on(4000, "10.0.0.5")}, "10.0.0.5"},
		{"the second where the first has none", "", []vsphere.GuestInterface{on(4000, link), on(4001, "10.1.0.5")}, "10.1.0.5"},
		{"version 4 before version 6", "", []vsphere.GuestInterface{on(4000, "2001:db8::1", "10.0.0.5")}, "10.0.0.5"},
		{"version 6", link, []vsphere.GuestInterface{on(4000, link, "2001:db8::1")}, "2001:db8::1"},
		{"adapters without addresses", "10.0.0.5", []vsphere.GuestInterface{on(4000)}, "10.0.0.5"},
	} {
		if got := (vsphere.GuestAddresses{Primary: c.primary}).WithInterfaces(c.interfaces).IP(); got != c.want {
			t.Errorf("%s: %q, want %q", c.story, got, c.want)
		}
	}
}
