package policytest

import (
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// HostnameCase is a group whose guests get the names of their VMs. The schema in members and the hub's webhook must give the same result.
type HostnameCase struct {
	Story string
	Name  string
	// Old is the previous host name setting, nil for a new group. New is the new one. An empty value means no guest.
	Old *v1alpha1.GuestHostname
	New v1alpha1.GuestHostname
	// Refused is part of the refusal, and Warned is part of the hub's warning; empty for none.
	Refused, Warned string
}

// HostnameCases returns the cases, with 12 VMs each. No two existing groups have the same name.
func HostnameCases() []HostnameCase {
	const byName, keep, none = v1alpha1.GuestHostnameName, v1alpha1.GuestHostnameKeep, v1alpha1.GuestHostname("")
	const tooLong, hasDot, windows = "at most 59 characters", "without dots", "Windows keeps no more"
	letters := strings.Repeat
	was := func(h v1alpha1.GuestHostname) *v1alpha1.GuestHostname { return &h }
	return []HostnameCase{
		{"a name of 63 characters", letters("a", 63), nil, byName, tooLong, ""},
		{"a name of 60 characters", letters("a", 60), nil, byName, tooLong, ""},
		{"a name of 59 characters", letters("a", 59), nil, byName, "", windows},
		{"a name of 40 characters", letters("a", 40), nil, byName, "", windows},
		{"a name with dots", "web.v1-2", nil, byName, hasDot, ""},
		{"a long name with dots", letters("a", 60) + ".b", nil, byName, tooLong, ""},
		{"a host name of 16 characters", letters("a", 13), nil, byName, "", windows},
		{"a host name of 15 characters", letters("a", 12), nil, byName, "", ""},
		{"a long name of which guests get nothing", letters("a", 63), nil, keep, "", ""},
		{"a name with dots of which guests get nothing", "web.v1-2", nil, none, "", ""},
		{"a long name that guests have already", letters("b", 63), was(byName), byName, "", ""},
		{"a name with dots that guests have already", "web.v1", was(byName), byName, "", ""},
		{"a long name that guests are to have now", letters("c", 63), was(keep), byName, tooLong, ""},
		{"a name with dots that guests are to have now", "app.v1-2", was(none), byName, hasDot, ""},
		{"a long name that guests do not get any more", letters("d", 63), was(byName), keep, "", ""},
	}
}

// Group returns the old and new spec of the case. Guest and CPU differ between them, so that an edit of another field is an edit, too.
func (c HostnameCase) Group(spec v1alpha1.VmGroupSpec) (old *v1alpha1.VmGroupSpec, after v1alpha1.VmGroupSpec) {
	guest := func(h v1alpha1.GuestHostname) *v1alpha1.Guest {
		if h == "" {
			return nil
		}
		return &v1alpha1.Guest{Hostname: h}
	}
	after = *spec.DeepCopy()
	after.Replicas, after.Guest = new(int32(12)), guest(c.New)
	if c.Old != nil {
		old = after.DeepCopy()
		old.Guest = guest(*c.Old)
		after.CPU++
	}
	return old, after
}
