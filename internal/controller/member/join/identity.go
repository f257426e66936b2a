package join

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Identity is the cluster of a MemberCluster according to the hub.
type Identity struct {
	ClusterUID string
	// Pinned in its spec, and not only found by a connection.
	Pinned  bool
	Created time.Time
}

// IdentityOf returns the Identity of a MemberCluster that was granted the cluster uid.
func IdentityOf(mc *v1alpha1.MemberCluster, uid string) Identity {
	return Identity{uid, mc.Spec.ClusterUID == uid, mc.CreationTimestamp.Time}
}

// Before reports whether MemberCluster a has precedence over b: by its pin, then by age, then by name.
func (i Identity) Before(a string, other Identity, b string) bool {
	if i.Pinned != other.Pinned {
		return i.Pinned
	}
	if !i.Created.Equal(other.Created) {
		return i.Created.Before(other.Created)
	}
	return a < b
}

// Duplicate is the problem of a MemberCluster that is the same cluster as another one with precedence.
func Duplicate(other string) *remote.Problem {
	return &remote.Problem{Reason: v1alpha1.ReasonDuplicateMember, Lasting: true, Message: fmt.Sprintf(
		"This is the same cluster as MemberCluster %q, which is pinned to it and serves it. Delete one of the two.", other)}
}
