package vsphere

import (
	"net/netip"
	"slices"
	"strings"
)

// GuestAddresses are the IP addresses of a guest as VMware Tools report them.
type GuestAddresses struct {
	// Primary is the address that VMware Tools consider the guest's primary one. It can be the address of a container
	// bridge.
	Primary string
	// Adapter is the first usable address of the VM's network adapters, in their order.
	Adapter string
	// Others are the addresses of interfaces that are no adapter of the VM, separated by spaces.
	Others string
}

// GuestInterface is an interface of a guest.
type GuestInterface struct {
	// Device is the key of the VM's network adapter, or negative for an interface that is no adapter.
	Device    int32
	Addresses []string
}

// WithInterfaces returns the addresses with Adapter and Others set from the guest's interfaces.
func (a GuestAddresses) WithInterfaces(all []GuestInterface) GuestAddresses {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(x, y GuestInterface) int { return int(x.Device) - int(y.Device) })
	var four, six string
	var others []string
	for _, i := range all {
		for _, address := range i.Addresses {
			ip, ok := usable(address)
			switch {
			case !ok:
			case i.Device < 0:
				others = append(others, address)
			case ip.Is4() && four == "":
				four = address
			case ip.Is6() && six == "":
				six = address
			}
		}
	}
	if a.Adapter = four; four == "" {
		a.Adapter = six
	}
	a.Others = strings.Join(others, " ")
	return a
}

// IP returns the address at which other machines reach the guest, or "".
func (a GuestAddresses) IP() string {
	if a.Adapter != "" {
		return a.Adapter
	}
	if _, ok := usable(a.Primary); !ok || slices.Contains(strings.Fields(a.Others), a.Primary) {
		return ""
	}
	return a.Primary
}

// usable reports whether other machines can reach an address. Link-local and similar addresses, which a guest assigns
// to itself, are not usable.
func usable(address string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(address)
	ip = ip.Unmap()
	return ip, err == nil && ip.IsGlobalUnicast()
}
