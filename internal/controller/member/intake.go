package member

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/foreigntext"
	"github.com/codeconnect/vmgroup-operator/internal/revision"
)

// How long the names and UIDs of objects may be. API servers have these limits for the first two, with that of namespaces for the names of Namespaces, and
// make UIDs of 36 bytes. They become keys of
// maps, lines of logs and parts of events, where nobody would think of bounding them. So do their versions, which have a bound of their own:
// [revision.MaxLength].
const mostName, mostNamespace, mostUID = 253, 63, 64

// admits refuses events that are not about objects of the kind that is watched, or whose object is not [named] as it may be. client-go would write a line
// into the log for each of the former.
func (s *feed) admits(event watch.Event) error {
	if event.Type == watch.Error {
		return nil
	}
	if reflect.TypeOf(event.Object) != s.of {
		return &remote.KindError{Watched: s.kind}
	}
	return named(s.kind, event.Object)
}

// named refuses objects whose name, namespace, UID or resource version is longer than an API server lets one be. The error is a [*remote.LimitError].
func named(kind string, object any) error {
	o, is := object.(metav1.Object)
	if !is {
		return nil
	}
	longestName := mostName
	if kind == "Namespace" {
		longestName = mostNamespace
	}
	for _, text := range []struct {
		what, is string
		most     int
	}{
		{"name", o.GetName(), longestName}, {"namespace", o.GetNamespace(), mostNamespace},
		{"UID", string(o.GetUID()), mostUID}, {"resource version", o.GetResourceVersion(), revision.MaxLength},
	} {
		if len(text.is) > text.most {
			return longer(fmt.Sprintf("the %s of %s %s", text.what, kind, foreigntext.Quoted(o.GetName())), text.is, text.most)
		}
	}
	return nil
}

// listed refuses a page of a list whose own resource version or continue token is longer than one can be: an informer keeps the one, and asks with the other.
// The error is a [*remote.LimitError].
func listed(kind string, list runtime.Object) error {
	m, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	for _, text := range []struct {
		what, is string
		most     int
	}{
		{"resource version", m.GetResourceVersion(), revision.MaxLength}, {"continue token", m.GetContinue(), revision.MaxContinue},
	} {
		if len(text.is) > text.most {
			return longer(fmt.Sprintf("the %s of the list of %ss", text.what, kind), text.is, text.most)
		}
	}
	return nil
}

func longer(what, is string, most int) error {
	return &remote.LimitError{
		What:  fmt.Sprintf("%s has %d bytes", what, len(is)),
		Limit: fmt.Sprintf("%d", most), Remedy: "No API server of Kubernetes stores such an object: check what answers at that address.",
	}
}
