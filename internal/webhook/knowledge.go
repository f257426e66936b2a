package webhook

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Knowledge is the data that handlers use beyond the request. It answers from memory, is safe for concurrent use, and
// neither keeps nor changes its arguments. An error means that the answer is unknown at present: the request fails, and the
// member's failurePolicy decides.
type Knowledge interface {
	// Policies returns all policies of the hub. It returns false until they have been read once.
	Policies(ctx context.Context) (*policy.Set, bool)
	// Requester returns the identity of a namespace of a member, with its labels. A namespace that is not known yet has no
	// labels.
	Requester(ctx context.Context, member, namespace string) (policy.Requester, error)
	// Group returns a group of a member, or an error for which apierrors.IsNotFound is true. The caller does not change the
	// group.
	Group(ctx context.Context, member, namespace, name string) (*v1alpha1.VmGroup, error)
	// Quota returns the quotas that the group exceeds if old becomes group. old is nil for a new group. A change without
	// growth exceeds no quota. Quota reserves nothing: the reconciler grants.
	Quota(ctx context.Context, requester policy.Requester, old, group *v1alpha1.VmGroup) []policy.Violation
	// Preview returns what the operator would do for the group now. It calls no vCenter and writes nothing. The status of a
	// group that does not exist yet is empty.
	Preview(ctx context.Context, member string, group *v1alpha1.VmGroup) (Preview, error)
}

// Offers answers inquiries of kubectl vmgroup about a namespace. *offers.Offers implements it.
type Offers interface {
	// Of returns what groups of the requester can use: its VCenters and quotas, or the templates of one VCenter behind the path after.
	Of(ctx context.Context, requester policy.Requester, vcenter, after string) (inquiry.Namespace, error)
}

// Preview is what the operator would do for a group.
type Preview = group.Preview
