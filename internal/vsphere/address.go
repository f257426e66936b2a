package vsphere

import (
	"net/netip"
	"slices"
	"strings"
)

// GuestAddresses are what VMware Tools report of the IP addresses of a guest.
type GuestAddresses struct {
	// Primary is the one that VMware Tools take for the guest's. It can be that of a bridge for containers.
	Primary string
	// Adapter is the first that can be used of the VM's network adapters, in their order.
	Adapter string
	// Others are those of interfaces that are no adapter of the VM, with spaces between them.
	Others string
}

// GuestInterface is an interface of a guest.
type GuestInterface struct {
	// Device is the key of the network adapter that it is, or negative.
	Device    int32
	Addresses []string
}

// WithInterfaces returns addresses with those of the guest's interfaces.
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

// IP is the address by which others reach the guest, or empty.
func (a GuestAddresses) IP() string {
	if a.Adapter != "" {
		return a.Adapter
	}
	if _, ok := usable(a.Primary); !ok || slices.Contains(strings.Fields(a.Others), a.Primary) {
		return ""
	}
	return a.Primary
}

// usable reports whether others can reach an address: it is not one that each guest gives itself before it has any.
func usable(address string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(address)
	ip = ip.Unmap()
	return ip, err == nil && ip.IsGlobalUnicast()
}
