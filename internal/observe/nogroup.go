package observe

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
)

// NoGroup reports whether a member certainly has no VmGroup of this name whose UID has this prefix. In addition, this replica must know no group with such
// a UID, by any name, in any member: a MemberCluster can now reach another cluster than when the group got its folder. It reads from the member's API
// server, because a cache can be behind. For a member that is not engaged, does not respond or is paused, the result is false.
func (o *Sources) NoGroup(ctx context.Context, member string, name types.NamespacedName, uid string) (bool, error) {
	before, ok := o.Fleet.Member(member)
	if !ok || before.Silent || before.Paused || !o.Fleet.Listed(member) || o.Fleet.HasUIDPart(uid) {
		return false, nil
	}
	cl, err := o.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return false, fmt.Errorf("find the client of member %q: %w", member, err)
	}
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	found, err := memberapi.Group(ctx, cl.GetAPIReader(), name)
	if err != nil || found != nil && strings.HasPrefix(string(found.UID), uid) {
		return false, err
	}
	after, ok := o.Fleet.Member(member)
	return ok && after.UID == before.UID && !after.Silent && !o.Fleet.HasUIDPart(uid), nil
}
