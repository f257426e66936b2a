package link

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// identities records the cluster of every MemberCluster, and which connection serves a cluster. One cluster under two names
// would have two owners and two folders for each group. The leader grants a cluster to one MemberCluster only. Until all
// replicas have observed that, the one with precedence is served and the other waits. It is not safe for concurrent use: the
// Provider's lock guards it.
type identities struct {
	known   map[string]join.Identity
	serving map[string]*connection // by cluster UID
}

func newIdentities() identities {
	return identities{known: map[string]join.Identity{}, serving: map[string]*connection{}}
}

// of returns the entry of the MemberCluster of c, which found that cluster.
func (i *identities) of(c *connection, clusterUID string) join.Identity {
	if known := i.known[c.target.Name]; known.ClusterUID == clusterUID {
		return known
	}
	return join.Identity{ClusterUID: clusterUID, Created: c.target.Created}
}

// first returns the other MemberCluster of that cluster that has precedence over name, "" if there is none.
func (i *identities) first(name string, of join.Identity) (elder string) {
	leading, leader := of, name
	for other, known := range i.known {
		if other != name && known.ClusterUID == of.ClusterUID && known.Before(other, leading, leader) {
			leading, leader, elder = known, other, other
		}
	}
	return elder
}

// others are the other MemberClusters of one cluster.
func (i *identities) others(name, clusterUID string) []string {
	var names []string
	for other, known := range i.known {
		if other != name && known.ClusterUID == clusterUID {
			names = append(names, other)
		}
	}
	return names
}

// handover is the problem of the MemberCluster with precedence until the other one has released the cluster.
func handover(other string) *remote.Problem {
	return &remote.Problem{Reason: v1alpha1.ReasonDuplicateMember, Lasting: true, Message: fmt.Sprintf(
		"This is the same cluster as MemberCluster %q, which is being disengaged.", other)}
}
