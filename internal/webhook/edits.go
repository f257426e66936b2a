package webhook

import (
	"context"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/edits"
)

// Edits records who changed the spec of groups. *recorder.Recorder implements it.
type Edits interface {
	// Admitted takes a request that the webhook has allowed. The API server can still refuse it. Admitted does not block.
	Admitted(edits.Request)
}

// created reports an allowed creation.
func (r reviewer) created(ctx context.Context, group *v1alpha1.VmGroup) {
	by, namespace, recorded := r.origin(ctx)
	if !recorded || group.UID == "" || group.Name == "" {
		return
	}
	group.Namespace = namespace
	r.edits.Admitted(edits.Create(by, group))
}

// updated reports an allowed update. old and group are as the API server sent them.
func (r reviewer) updated(ctx context.Context, old, group *v1alpha1.VmGroup) {
	by, namespace, recorded := r.origin(ctx)
	if !recorded || group.DeletionTimestamp != nil {
		return
	}
	group.Namespace = namespace
	if request, changes := edits.Update(by, old, group); changes {
		r.edits.Admitted(request)
	}
}

// scaled reports an allowed change of the subresource scale. group is the last known state of the group.
func (r reviewer) scaled(ctx context.Context, group *v1alpha1.VmGroup, old, scale *autoscalingv1.Scale) {
	by, _, recorded := r.origin(ctx)
	if !recorded {
		return
	}
	request, changes := edits.Scaled(by, group, edits.Scale{
		UID: old.UID, Version: old.ResourceVersion, From: old.Spec.Replicas, To: scale.Spec.Replicas,
	})
	if changes {
		r.edits.Admitted(request)
	}
}

// origin returns the origin of a request, and its namespace, which is authoritative. It returns false if the change must not be recorded: a dry
// run stores nothing.
func (r reviewer) origin(ctx context.Context) (by edits.By, namespace string, recorded bool) {
	req, err := admission.RequestFromContext(ctx)
	if err != nil || r.edits == nil || isDryRun(req) {
		return edits.By{}, "", false
	}
	return edits.By{Member: callOf(ctx).member, User: req.UserInfo.Username, Manager: managerOf(req), At: time.Now()}, req.Namespace, true
}
