package vmgroup

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/internal/logsink"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/seldom"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// failuresInterval is how often the log tells that a pass over a group of one member failed. A hundred a second may fail.
const failuresInterval = 10 * time.Second

// passError is why a pass over a group failed, in few words. What it wraps is as it was.
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
		return seldomFailing(log, string(request.ClusterName), &r.failures, r.Now)
	}
}

// seldomFailing returns a logger for passes over groups of one member, which tells of errors once in [failuresInterval], and of how many there were meanwhile.
// controller-runtime writes a line for each pass that fails.
func seldomFailing(log logr.Logger, member string, told *seldom.Told[string], now func() time.Time) logr.Logger {
	return logsink.Wrap(log, failureFilter{member, told, now})
}

type failureFilter struct {
	member string
	told   *seldom.Told[string]
	now    func() time.Time
}

// Line implements logsink.Filter.
func (f failureFilter) Line(line *logsink.Line) bool {
	if !line.IsError {
		return true
	}
	more, tell := f.told.Next(f.member, f.now(), failuresInterval)
	if more > 0 {
		line.KeysAndValues = append(slices.Clip(line.KeysAndValues), "failuresOfMemberNotLogged", more)
	}
	return tell
}

// Values implements logsink.Filter.
func (failureFilter) Values(keysAndValues []any) []any { return keysAndValues }
