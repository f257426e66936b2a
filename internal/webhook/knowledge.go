package webhook

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Knowledge is what handlers know beyond the request. It answers from memory, is safe for concurrent use, and neither keeps
// nor changes what it is given. An error means that nobody can tell now: the request fails, and the member's failurePolicy
// decides.
type Knowledge interface {
	// Policies returns all policies of the hub. It returns false until they were read once.
	Policies(ctx context.Context) (*policy.Set, bool)
	// Requester returns who a namespace of a member is, with its labels. A namespace that is not known yet has none.
	Requester(ctx context.Context, member, namespace string) (policy.Requester, error)
	// Group returns a group of a member, or an error that apierrors.IsNotFound knows. The caller does not change it.
	Group(ctx context.Context, member, namespace, name string) (*v1alpha1.VmGroup, error)
	// Quota returns which quotas the group exceeds when it becomes group. old is nil for a new one. What does not grow
	// exceeds nothing. Nothing is reserved: the reconciler grants.
	Quota(ctx context.Context, requester policy.Requester, old, group *v1alpha1.VmGroup) []policy.Violation
	// Preview says what the operator would make of the group now. It calls no vCenter and writes nothing. Of a group that
	// does not exist yet the status is empty.
	Preview(ctx context.Context, member string, group *v1alpha1.VmGroup) (Preview, error)
}

// Preview is what the operator would make of a group.
type Preview = group.Preview
