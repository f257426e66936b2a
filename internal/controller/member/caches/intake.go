package caches

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// admits refuses events about objects of another kind than the watched one, and objects whose name Kubernetes does not allow: see
// [remote.Named]. client-go would log a line for each of the former.
func (s *feed) admits(event watch.Event) error {
	if event.Type == watch.Error {
		return nil
	}
	if reflect.TypeOf(event.Object) != s.of {
		return &remote.KindError{Watched: s.kind}
	}
	if o, is := event.Object.(metav1.Object); is && event.Type == watch.Bookmark { // a bookmark has no other field
		return remote.Versioned(s.kind, o)
	}
	return remote.Named(s.kind, event.Object)
}
