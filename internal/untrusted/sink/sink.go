// Package sink makes a logger harmless: what it is given may hold text of others, as the errors of API servers and the names of VMs do.
package sink

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// maxValue bounds each message, error and value, in bytes.
const maxValue = 4096

// Wrap returns a logger that writes to log what may be shown: messages, errors, and values that are text or say what their text is ([fmt.Stringer]), as
// [untrusted.Text] returns them. Values of other types are left as they are.
func Wrap(log logr.Logger) logr.Logger {
	under := log.GetSink()
	if under == nil {
		return log // it discards everything
	}
	// The sink below counts one caller more for each layer above it.
	if deeper, ok := under.(logr.CallDepthLogSink); ok {
		under = deeper.WithCallDepth(1)
	}
	return log.WithSink(sink{under})
}

type sink struct{ logr.LogSink }

var _ logr.CallDepthLogSink = sink{}

// Init implements logr.LogSink. The logger that is wrapped did that.
func (s sink) Init(logr.RuntimeInfo) {}

func (s sink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, untrusted.Text(message, maxValue), shown(keysAndValues)...)
}

func (s sink) Error(err error, message string, keysAndValues ...any) {
	s.LogSink.Error(shownError(err), untrusted.Text(message, maxValue), shown(keysAndValues)...)
}

func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	return sink{s.LogSink.WithValues(shown(keysAndValues)...)}
}

func (s sink) WithName(name string) logr.LogSink { return sink{s.LogSink.WithName(name)} }

func (s sink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return sink{deeper.WithCallDepth(depth)}
	}
	return s
}

// shown returns keys and values of which those that are text may be shown. The list that was given is the caller's and stays as it is.
func shown(keysAndValues []any) []any {
	out := make([]any, len(keysAndValues))
	for i, v := range keysAndValues {
		switch v := v.(type) {
		case string:
			out[i] = untrusted.Text(v, maxValue)
		case error:
			out[i] = shownError(v)
		case []string:
			list := make([]string, len(v))
			for j := range v {
				list[j] = untrusted.Text(v[j], maxValue)
			}
			out[i] = list
		default:
			out[i] = shownOther(v)
		}
	}
	return out
}

// shownOther treats what is text under another type, such as a UID, and what says what its text is. Numbers and times say that too, and hold nothing of others.
func shownOther(v any) any {
	switch v := v.(type) {
	case nil, time.Time:
		return v
	case klog.ObjectRef: // it is shown as an object with these fields
		return klog.ObjectRef{Namespace: untrusted.Text(v.Namespace, maxValue), Name: untrusted.Text(v.Name, maxValue)}
	}
	of := reflect.ValueOf(v)
	text, says := v.(fmt.Stringer)
	switch {
	case of.Kind() == reflect.String:
		return untrusted.Text(of.String(), maxValue)
	case !says, of.CanInt(), of.CanUint(), of.CanFloat(), of.Kind() == reflect.Pointer && of.IsNil():
		return v
	}
	return untrusted.Text(text.String(), maxValue)
}

func shownError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(untrusted.Text(err.Error(), maxValue))
}
