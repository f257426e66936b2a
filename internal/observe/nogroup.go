package observe

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// NoGroup reports whether a member certainly has no VmGroup of this name whose UID begins so, and this replica knows of no group with such a UID under any
// name, in any member: a MemberCluster can lead to another cluster than it did when the group got its folder. The member's API server is asked, since a
// cache can be behind. Of a member that is not engaged, does not answer or is paused, nothing is certain.
func (o *Sources) NoGroup(ctx context.Context, member string, name types.NamespacedName, uid string) (bool, error) {
	before, ok := o.Fleet.Member(member)
	if !ok || before.Silent || before.Paused || !o.Fleet.Listed(member) || o.Fleet.HasUIDPart(uid) {
		return false, nil
	}
	cl, err := o.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return false, fmt.Errorf("find the client of member %q: %w", member, err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	found, err := GroupNow(ctx, cl.GetAPIReader(), name)
	if err != nil || found != nil && strings.HasPrefix(string(found.UID), uid) {
		return false, err
	}
	after, ok := o.Fleet.Member(member)
	return ok && after.UID == before.UID && !after.Silent && !o.Fleet.HasUIDPart(uid), nil
}

// GroupNow reads the metadata of the VmGroup that a member has under a name now, nil if the member certainly has none. An API server that does not serve
// VmGroups, or a proxy, can answer "not found" as well: such an answer is an error.
func GroupNow(ctx context.Context, live client.Reader, name types.NamespacedName) (*metav1.ObjectMeta, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	err := live.Get(ctx, name, found)
	switch {
	case err == nil:
		return &found.ObjectMeta, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, nil
	}
	return nil, fmt.Errorf("read VmGroup %s: %w", name, err)
}
