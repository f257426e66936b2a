package effect

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// logFailure logs a failure at level error, unless it needs no person: another replica acts on the group now, the connection to the member was
// replaced, a folder has content and is kept, which an event reports, or the operator tries again, and a condition reports failures that last.
func logFailure(ctx context.Context, err error, message string, values ...any) {
	switch kind := vsphere.KindOf(err); {
	case kind == vsphere.KindFenced, kind == vsphere.KindNotEmpty, kind == vsphere.KindTransient, errors.Is(err, memberapi.ErrEnded):
		log.FromContext(ctx).Info(message, append(values, "cause", err.Error())...)
	default:
		log.FromContext(ctx).Error(err, message, values...)
	}
}

// logRefusal logs an action that vCenter, or the client before it, refused.
func logRefusal(ctx context.Context, s *group.Snapshot, action plan.Action, err error) {
	values := []any{"vcenter", s.VCenter, "action", action.Kind, "vm", action.Name, "because", action.Reason, "kind", vsphere.KindOf(err)}
	var e *vsphere.Error
	switch {
	case action.Quiet:
		log.FromContext(ctx).V(1).Info("vCenter refused an action", append(values, "cause", err.Error())...)
	case errors.As(err, &e) && e.Kind == vsphere.KindNotFound && action.MoRef != "" && e.Object.Value == action.MoRef:
		log.FromContext(ctx).Info("An action came too late: its VM does not exist any more", append(values, "cause", err.Error())...)
	default:
		logFailure(ctx, err, "vCenter refused an action", values...)
	}
}
