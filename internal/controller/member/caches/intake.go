package caches

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// admits refuses events that are not about objects of the kind that is watched, or whose object has a name that Kubernetes does not allow: see
// [remote.Named]. client-go would write a line into the log for each of the former.
func (s *feed) admits(event watch.Event) error {
	if event.Type == watch.Error {
		return nil
	}
	if reflect.TypeOf(event.Object) != s.of {
		return &remote.KindError{Watched: s.kind}
	}
	if o, is := event.Object.(metav1.Object); is && event.Type == watch.Bookmark { // it has nothing else
		return remote.Versioned(s.kind, o)
	}
	return remote.Named(s.kind, event.Object)
}
