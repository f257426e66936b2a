package sim

import (
	"context"
	"strings"
)

// longestGuestInfo is how much of a value in guestinfo a guest can read, in bytes.
const longestGuestInfo = 64 << 10

// GuestInfo is what the guest of a VM reads in guestinfo: no more of a value than a guest gets, whatever vCenter has stored.
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
