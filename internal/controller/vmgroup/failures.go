package vmgroup

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/internal/seldom"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// mostSaid is how many bytes of an error of a member's API server stand in the log: that server may have written it.
	mostSaid = 300
	// failuresInterval is how often the log tells that a pass over a group of one member failed. A hundred a second may fail.
	failuresInterval = 10 * time.Second
)

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
	return fmt.Sprintf("VmGroup %s of member %q: %s", untrusted.Name(e.request.NamespacedName.String()), e.request.ClusterName, said(e.err))
}

func (e *passError) Unwrap() error { return e.err }

// said is what an error of a member's API server says, as it may stand in the log.
func said(err error) string { return untrusted.Text(err.Error(), mostSaid) }

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
	under := log.GetSink()
	if under == nil {
		return log // it discards everything
	}
	// The sink below counts one caller more for each layer above it.
	if deeper, ok := under.(logr.CallDepthLogSink); ok {
		under = deeper.WithCallDepth(1)
	}
	return log.WithSink(failureSink{under, member, told, now})
}

type failureSink struct {
	logr.LogSink
	member string
	told   *seldom.Told[string]
	now    func() time.Time
}

var _ logr.CallDepthLogSink = failureSink{}

// Init implements logr.LogSink. The logger that is wrapped did that.
func (s failureSink) Init(logr.RuntimeInfo) {}

func (s failureSink) Error(err error, message string, keysAndValues ...any) {
	more, tell := s.told.Next(s.member, s.now(), failuresInterval)
	if !tell {
		return
	}
	if more > 0 {
		keysAndValues = append(keysAndValues[:len(keysAndValues):len(keysAndValues)], "failuresOfMemberNotLogged", more)
	}
	s.LogSink.Error(err, message, keysAndValues...)
}

func (s failureSink) WithValues(keysAndValues ...any) logr.LogSink {
	s.LogSink = s.LogSink.WithValues(keysAndValues...)
	return s
}

func (s failureSink) WithName(name string) logr.LogSink {
	s.LogSink = s.LogSink.WithName(name)
	return s
}

func (s failureSink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		s.LogSink = deeper.WithCallDepth(depth)
	}
	return s
}
