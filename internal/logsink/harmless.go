package logsink

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

// Harmless returns a logger that writes to log only what can be shown: the text of messages, of errors, and of values that are text or say what their text
// is ([fmt.Stringer]), as [untrusted.Text] returns it. Other values stay as they are. What is logged can hold text of others, for example in the errors of
// API servers and the names of VMs.
func Harmless(log logr.Logger) logr.Logger { return Wrap(log, harmless{}) }

type harmless struct{}

func (harmless) Line(line *Line) bool {
	if line.IsError && line.Err == nil {
		line.Err = errors.New(line.Message) // each line of level error has the key error
	}
	line.Err, line.Message, line.KeysAndValues = shownError(line.Err), untrusted.Text(line.Message, maxValue), shown(line.KeysAndValues)
	return true
}

func (harmless) Values(keysAndValues []any) []any { return shown(keysAndValues) }

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
