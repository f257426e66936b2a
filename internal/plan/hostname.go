package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const (
	// longestNamedGroup leaves room for a hyphen and a three-digit ordinal in a host name, which has at most 63 characters.
	longestNamedGroup = 59
	// longestNetBIOSName is the number of characters that Windows keeps of a host name.
	longestNetBIOSName = 15
)

// Refusals of spec.guest.hostname Name. The schema of VmGroup has the same sentences.
const (
	hostnameTooLong = "guest.hostname Name needs a VmGroup's name of at most 59 characters: an ordinal is added, and a host name has at most 63. Choose a shorter name, or set Keep"
	hostnameHasDot  = "guest.hostname Name needs a VmGroup's name without dots: a guest takes what is before the first dot for its host name, the same for all VMs. Choose a name without dots, or set Keep"
)

// RefusedHostname explains why guests cannot use the names of their VMs as host names, or returns "". old is the previous spec, or nil for a new group: a setting that exists
// already is not refused.
func RefusedHostname(name string, old *v1alpha1.VmGroupSpec, spec v1alpha1.VmGroupSpec) string {
	switch {
	case !namesGuests(spec) || old != nil && namesGuests(*old):
		return ""
	case len(name) > longestNamedGroup:
		return hostnameTooLong
	case strings.Contains(name, "."):
		return hostnameHasDot
	}
	return ""
}

// LongHostname returns a warning for host names that Windows shortens, or "".
func LongHostname(name string, spec v1alpha1.VmGroupSpec) string {
	if !namesGuests(spec) || name == "" || spec.Replicas != nil && *spec.Replicas <= 0 {
		return ""
	}
	last := int32(0)
	if spec.Replicas != nil {
		last = *spec.Replicas - 1
	}
	if len(name)+len("-")+len(strconv.Itoa(int(last))) <= longestNetBIOSName {
		return ""
	}
	return fmt.Sprintf("spec.guest.hostname: %q has more than %d characters, and Windows keeps no more of a host name; where guests run Windows, choose a shorter name for the group, or set Keep",
		VMName(name, last), longestNetBIOSName)
}

func namesGuests(spec v1alpha1.VmGroupSpec) bool {
	return spec.Guest != nil && spec.Guest.Hostname == v1alpha1.GuestHostnameName
}
