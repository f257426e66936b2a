package member

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// identity says which cluster a MemberCluster is, by the word of the hub.
type identity struct {
	clusterUID string
	// pinned in its spec, and not only found by a connection.
	pinned  bool
	created time.Time
}

// identityOf a MemberCluster that was granted the cluster uid.
func identityOf(mc *v1alpha1.MemberCluster, uid string) identity {
	return identity{uid, mc.Spec.ClusterUID == uid, mc.CreationTimestamp.Time}
}

// before reports whether MemberCluster a goes before b: by its pin, then by age, then by name.
func (i identity) before(a string, other identity, b string) bool {
	if i.pinned != other.pinned {
		return i.pinned
	}
	if !i.created.Equal(other.created) {
		return i.created.Before(other.created)
	}
	return a < b
}

// identities knows the cluster behind every MemberCluster, and which connection serves a cluster. One
// cluster under two names would have two owners and two folders for each group. The leader grants a cluster to one
// MemberCluster only; until all replicas have heard of it, the one that goes before is served and the other waits. It is not
// safe for concurrent use: the Provider's lock guards it.
type identities struct {
	known   map[string]identity
	serving map[string]*connection // by cluster UID
}

func newIdentities() identities {
	return identities{known: map[string]identity{}, serving: map[string]*connection{}}
}

// of is what is known of the MemberCluster of c, which found that cluster.
func (i *identities) of(c *connection, clusterUID string) identity {
	if known := i.known[c.target.Name]; known.clusterUID == clusterUID {
		return known
	}
	return identity{clusterUID, false, c.target.Created}
}

// first returns the other MemberCluster of that cluster that goes before name, "" if there is none.
func (i *identities) first(name string, of identity) (elder string) {
	leading, leader := of, name
	for other, known := range i.known {
		if other != name && known.clusterUID == of.clusterUID && known.before(other, leading, leader) {
			leading, leader, elder = known, other, other
		}
	}
	return elder
}

// others are the other MemberClusters of one cluster.
func (i *identities) others(name, clusterUID string) []string {
	var names []string
	for other, known := range i.known {
		if other != name && known.clusterUID == clusterUID {
			names = append(names, other)
		}
	}
	return names
}

// handover is the problem of the MemberCluster that goes before another until that one has let go.
func handover(other string) *remote.Problem {
	return &remote.Problem{Reason: v1alpha1.ReasonDuplicateMember, Lasting: true, Message: fmt.Sprintf(
		"This is the same cluster as MemberCluster %q, which is being disengaged.", other)}
}

func duplicateOf(other string) *remote.Problem {
	return &remote.Problem{Reason: v1alpha1.ReasonDuplicateMember, Lasting: true, Message: fmt.Sprintf(
		"This is the same cluster as MemberCluster %q, which is pinned to it and serves it. Delete one of the two.", other)}
}
