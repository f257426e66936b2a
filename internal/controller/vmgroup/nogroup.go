package vmgroup

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/revision"
)

const (
	// listPage is how many objects are asked for at once.
	listPage = 100
	// mostPages of a list are read: an API server may say for ever that there is one more.
	mostPages = 1000
)

// NoGroup reports whether there is certainly no VmGroup in a namespace of a member whose UID begins so, and none that this replica knows in another
// namespace or member: a MemberCluster may lead to another cluster than it did when the group got its folder. The member's API server is asked, since a
// cache may be behind. Of a member that is not engaged, does not answer or is paused, nothing is certain.
func (r *Reconciler) NoGroup(ctx context.Context, member, namespace, uid string) (bool, error) {
	before, ok := r.Members(member)
	if !ok || before.Silent || before.Paused || !r.Groups.listed(member) || r.Groups.knowsUID(uid) {
		return false, nil
	}
	cl, err := r.Clusters.GetCluster(ctx, multicluster.ClusterName(member))
	if err != nil {
		return false, fmt.Errorf("find the client of member %q: %w", member, err)
	}
	found, err := listedUID(ctx, cl.GetAPIReader(), namespace, uid)
	if err != nil {
		return false, fmt.Errorf("list the VmGroups of namespace %q of member %q: %w", namespace, member, err)
	}
	if found {
		return false, nil
	}
	after, ok := r.Members(member)
	return ok && after.UID == before.UID && !after.Silent && !r.Groups.knowsUID(uid), nil
}

// listedUID reports whether an API server lists a VmGroup of a namespace whose UID begins so.
func listedUID(ctx context.Context, reader client.Reader, namespace, uid string) (found bool, err error) {
	err = eachGroup(ctx, reader, namespace, func(group *metav1.PartialObjectMetadata) bool {
		found = strings.HasPrefix(string(group.UID), uid)
		return !found
	})
	return found, err
}

// eachGroup goes through the VmGroups that an API server lists in a namespace, or in all if that is empty, while do returns true. It reads page by page, since
// answers are bounded. After an error nobody knows whether those were all.
func eachGroup(ctx context.Context, reader client.Reader, namespace string, do func(*metav1.PartialObjectMetadata) bool) error {
	page := ""
	for range mostPages {
		groups := &metav1.PartialObjectMetadataList{}
		groups.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroupList"))
		if err := reader.List(ctx, groups, client.InNamespace(namespace), client.Limit(listPage), client.Continue(page)); err != nil {
			return err
		}
		if revision.ContinueTooLong(groups.Continue) {
			return &AnswerError{fmt.Sprintf("the continue token of a list has %d bytes, more than %d", len(groups.Continue), revision.MaxContinue)}
		}
		for i := range groups.Items {
			if !do(&groups.Items[i]) {
				return nil
			}
		}
		if page = groups.Continue; page == "" {
			return nil
		}
	}
	return fmt.Errorf("the list has more than %d pages", mostPages)
}

// knowsUID reports whether any group is known, of whichever member, whose UID begins so.
func (g *Groups) knowsUID(prefix string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.byKey {
		if strings.HasPrefix(key.Group(), prefix) {
			return true
		}
	}
	return false
}
