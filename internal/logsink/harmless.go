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

// maxValue is the limit of each message, error and value, in bytes.
const maxValue = 4096

// Harmless returns a logger that passes texts through [untrusted.Text] before it writes them to log. Texts are messages, errors, strings, and values that
// implement [fmt.Stringer]. Other values are unchanged. Lines can contain text of third parties, for example errors of API servers and names of VMs.
func Harmless(log logr.Logger) logr.Logger { return Wrap(log, harmless{}) }

type harmless struct{}

// bodyUnread is client-go's line about an answer whose body ends early, for example because the connection to a member was ended. The caller gets
// the error too, and reports it if it needs a person.
const bodyUnread = "Unexpected error when reading response body"

func (harmless) Line(line *Line) bool {
	if line.IsError && line.Message == bodyUnread {
		return false
	}
	if line.IsError && line.Err == nil {
		line.Err = errors.New(line.Message) // each line of level error has key error
	}
	line.Err, line.Message, line.KeysAndValues = shownError(line.Err), untrusted.Text(line.Message, maxValue), shown(line.KeysAndValues)
	return true
}

func (harmless) Values(keysAndValues []any) []any { return shown(keysAndValues) }

// shown returns keys and values with harmless texts. It does not change the given list, which belongs to the caller.
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

// shownOther returns a harmless value of a type with a string as its base, such as a UID, or of a [fmt.Stringer]. Numbers and times implement it too, but
// contain no text of third parties.
func shownOther(v any) any {
	switch v := v.(type) {
	case nil, time.Time:
		return v
	case klog.ObjectRef: // a log shows it as an object with these fields
		return klog.ObjectRef{Namespace: untrusted.Text(v.Namespace, maxValue), Name: untrusted.Text(v.Name, maxValue)}
	}
	of := reflect.ValueOf(v)
	text, says := v.(fmt.Stringer)
	switch {
	case of.Kind() == reflect.String:
		return untrusted.Text(of.String(), maxValue)
	case of.Kind() == reflect.Slice && hidden(of.Type().Elem()):
		return untrusted.Text(fmt.Sprintf("%+v", v), maxValue)
	case !says, of.CanInt(), of.CanUint(), of.CanFloat(), of.Kind() == reflect.Pointer && of.IsNil():
		return v
	}
	return untrusted.Text(text.String(), maxValue)
}

// hidden reports whether JSON shows all values of a type as {}, such as the statuses of health checks that controller-runtime logs.
func hidden(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			return false
		}
	}
	return t.NumField() > 0
}

func shownError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(untrusted.Text(err.Error(), maxValue))
}
