package remote

import (
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Addresses are those to which the operator can connect for members. The zero value allows all.
type Addresses struct {
	prefixes []netip.Prefix
	names    map[string]bool
	// domains begin with a dot.
	domains []string
}

// ParseAddresses reads CIDRs, IP addresses and host names; a name that begins with `*.` matches all its
// subdomains.
func ParseAddresses(entries []string) (Addresses, error) {
	a := Addresses{}
	for _, entry := range entries {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if prefix, err := netip.ParsePrefix(entry); err == nil {
			a.prefixes = append(a.prefixes, prefix.Masked())
			continue
		}
		if address, err := netip.ParseAddr(entry); err == nil {
			a.prefixes = append(a.prefixes, netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()))
			continue
		}
		name, wild := strings.CutPrefix(entry, "*.")
		if len(validation.IsDNS1123Subdomain(name)) > 0 {
			return Addresses{}, fmt.Errorf("%q is neither a CIDR like 10.0.0.0/8, nor an IP address, nor a host name", entry)
		}
		if wild {
			a.domains = append(a.domains, "."+name)
			continue
		}
		if a.names == nil {
			a.names = map[string]bool{}
		}
		a.names[name] = true
	}
	return a, nil
}

// Any reports whether all addresses are allowed.
func (a Addresses) Any() bool {
	return len(a.prefixes) == 0 && len(a.names) == 0 && len(a.domains) == 0
}

// allowsName reports whether the operator can connect to a host by its name, whatever that resolves to.
func (a Addresses) allowsName(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if a.names[host] {
		return true
	}
	for _, domain := range a.domains {
		if strings.HasSuffix(host, domain) {
			return true
		}
	}
	return false
}

// allowsIP reports whether a resolved address is in one of the networks.
func (a Addresses) allowsIP(address string) bool {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return false
	}
	ip := parsed.Addr().Unmap().WithZone("")
	for _, prefix := range a.prefixes {
		if prefix.Contains(ip) {
			return true
		}
	}
	return false
}

// AddressError means that the operator must not connect to an address.
type AddressError struct {
	// Address is an IP address with a port.
	Address string
}

// Error names the address.
func (e *AddressError) Error() string {
	return "connections to " + e.Address + " are not allowed for members"
}
