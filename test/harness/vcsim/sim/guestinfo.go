package sim

import (
	"context"
	"strings"
)

// longestGuestInfo is the limit of a guestinfo value that a guest can read, in bytes.
const longestGuestInfo = 64 << 10

// GuestInfo returns the values of guestinfo as the guest of a VM reads them: truncated to the limit, whatever vCenter has stored.
func (o *Operator) GuestInfo(ctx context.Context, vmPath string) (map[string]string, error) {
	vms, err := o.VMs(ctx)
	if err != nil {
		return nil, err
	}
	info := map[string]string{}
	for key, value := range vms[vmPath].Extra {
		if strings.HasPrefix(key, "guestinfo.") {
			info[key] = value[:min(len(value), longestGuestInfo)]
		}
	}
	return info, nil
}
