package vmgroup

import (
	"fmt"

	"github.com/go-logr/logr"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// passError is the reason of a failed pass over a group, in few words. The wrapped error is unchanged.
type passError struct {
	request mcreconcile.Request
	err     error
}

// failed returns err, if there is one, as the error of a pass over the group of this name.
func failed(request mcreconcile.Request, err error) error {
	if err == nil {
		return nil
	}
	return &passError{request, err}
}

func (e *passError) Error() string {
	return fmt.Sprintf("VmGroup %s of member %q: %s", untrusted.Name(e.request.NamespacedName.String()), e.request.ClusterName, memberapi.ErrorText(e.err))
}

func (e *passError) Unwrap() error { return e.err }

// logger returns the loggers of passes, and that of all else of the controller, for which there is no request.
func (r *Reconciler) logger(log logr.Logger) func(*mcreconcile.Request) logr.Logger {
	return func(request *mcreconcile.Request) logr.Logger {
		if request == nil {
			return log
		}
		return r.logOfGroup(log, refOf(*request))
	}
}

// logOfGroup returns a logger whose lines name a group.
func (r *Reconciler) logOfGroup(log logr.Logger, ref fleet.Ref) logr.Logger {
	return log.WithValues(r.Fleet.LogValues(ref)...)
}
