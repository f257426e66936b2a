package member

import (
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// identity says which cluster a MemberCluster was found to be.
type identity struct {
	clusterUID string
	created    time.Time
}

// identities knows the cluster behind every MemberCluster, and which connection serves a cluster. One
// cluster under two names would have two owners and two folders for each group, so the older MemberCluster
// wins and the other waits. It is not safe for concurrent use: the Provider's lock guards it.
type identities struct {
	known map[string]identity
	// learnedBy is the connection that found out; a MemberCluster without one is known from its status.
	learnedBy map[string]*connection
	serving   map[string]*connection // by cluster UID
}

func newIdentities() identities {
	return identities{known: map[string]identity{}, learnedBy: map[string]*connection{}, serving: map[string]*connection{}}
}

// older reports whether member a (created at aCreated) goes before b: by age, then by name.
func older(a string, aCreated time.Time, b string, bCreated time.Time) bool {
	if !aCreated.Equal(bCreated) {
		return aCreated.Before(bCreated)
	}
	return a < b
}

// learn records which cluster name is and returns the oldest other MemberCluster of that cluster that goes
// before it, "" if there is none.
func (i *identities) learn(name string, found identity) (elder string) {
	i.known[name] = found
	elderIdentity := found
	for other, known := range i.known {
		if other == name || known.clusterUID != found.clusterUID {
			continue
		}
		before := elder
		if before == "" {
			before = name
		}
		if older(other, known.created, before, elderIdentity.created) {
			elder, elderIdentity = other, known
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

// handover is the problem of the older of two MemberClusters until the younger one has let go.
func handover(younger string) *remote.Problem {
	return &remote.Problem{Reason: v1alpha1.ReasonDuplicateMember, Lasting: true, Message: fmt.Sprintf(
		"This is the same cluster as MemberCluster %q, which is younger and is being disengaged.", younger)}
}

func duplicateOf(elder string) *remote.Problem {
	return &remote.Problem{Reason: v1alpha1.ReasonDuplicateMember, Lasting: true, Message: fmt.Sprintf(
		"This is the same cluster as MemberCluster %q, which is older and serves it. Delete one of the two.", elder)}
}
