package group

import "github.com/codeconnect/vmgroup-operator/api/v1alpha1"

// GuestInfoKey returns the guestinfo key by which a guest reports that it is ready, or "".
func GuestInfoKey(spec *v1alpha1.VmGroupSpec) string {
	if spec.Readiness == nil || spec.Readiness.GuestInfo == nil {
		return ""
	}
	return spec.Readiness.GuestInfo.Key
}
