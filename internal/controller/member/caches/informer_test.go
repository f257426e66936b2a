package caches

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

func TestStoppedMetadataWatchLeavesNoGoroutine(t *testing.T) {
	existing := goleak.IgnoreCurrent()
	source := watch.NewFake()
	list := &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return nil, errors.New("it is not asked")
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.Filter(source, func(e watch.Event) (watch.Event, bool) { return e, true }), nil
		},
	}
	New(remote.NewGuard(remote.DefaultLimits(), remote.NewPace(remote.DefaultLimits())), settings.Timings{}.WithDefaults(), time.Now).NewInformer(list, NamespaceMetadata(), 0, nil)
	filtered, err := list.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	source.Action(watch.Error, runtime.Object(&metav1.Status{})) // received by the filter, read by no consumer
	filtered.Stop()
	filtered.Stop()
	if err := goleak.Find(existing); err != nil {
		t.Error(err)
	}
}
