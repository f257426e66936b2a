// Package caches keeps the watched objects of a member in memory. It keeps a small part of each object, limits the memory of a
// member, and is as current as the member's API server allows.
package caches

import (
	"context"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// PageCost is the size that an empty page of a list counts for, so that a list of empty pages ends.
const PageCost = 64 << 10

// Informers creates the informers of a member's cache, and records whether they are up to date.
type Informers struct {
	guard   *remote.Guard
	tally   *tally
	timings settings.Timings
	now     func() time.Time

	mu  sync.Mutex
	all []*feed
}

// New creates no informer yet.
func New(guard *remote.Guard, timings settings.Timings, now func() time.Time) *Informers {
	return &Informers{guard: guard, tally: newTally(guard), timings: timings, now: now}
}

// Keep is the transform of the caches. Exceeding a limit ends the incarnation. It is no error here, because client-go would log the
// object.
func (f *Informers) Keep(object any) (any, error) {
	Strip(object)
	if o, is := object.(runtime.Object); is {
		_ = f.tally.put(remote.KindOf(o), o)
	}
	return object, nil
}

// NewInformer is cache.Options.NewInformer.
func (f *Informers) NewInformer(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers,
) toolscache.SharedIndexInformer {
	kind := remote.KindOf(object)
	if list, ok := from.(*toolscache.ListWatch); ok && list.WatchFuncWithContext != nil && list.ListWithContextFunc != nil {
		s := &feed{Informers: f, restarts: restarts{kind: kind, freshAt: f.now()}, of: reflect.TypeOf(object), listPage: list.ListWithContextFunc, open: list.WatchFuncWithContext}
		list.ListWithContextFunc, list.WatchFuncWithContext = s.list, s.watch
		f.mu.Lock()
		f.all = append(f.all, s)
		f.mu.Unlock()
	}
	informer := toolscache.NewSharedIndexInformer(from, object, resync, indexers)
	// This fails only for an informer that has ended.
	_, _ = informer.AddEventHandler(f.tally.follow(kind))
	return informer
}

// Problem returns the reason why the cache of the member is outdated, or nil.
func (f *Informers) Problem(host string) *remote.Problem {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	for _, s := range f.all {
		if p := s.behind(host, now, f.timings.Sync); p != nil {
			return p
		}
	}
	return nil
}

// feed is the ListerWatcher of an informer.
type feed struct {
	*Informers
	restarts
	// of is the type of the objects.
	of       reflect.Type
	listPage toolscache.ListWithContextFunc
	open     toolscache.WatchFuncWithContext
}

// list reads all pages. It always requests the newest version and pages, so that the API server does not choose how much it sends at once.
func (s *feed) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	var size int64
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := s.listPage(ctx, options)
		if err != nil {
			return nil, err
		}
		if err := remote.Listed(s.kind, page); err != nil {
			return nil, s.guard.Refuse(err)
		}
		size += PageCost
		if err := meta.EachListItem(page, func(object runtime.Object) error {
			if err := remote.Named(s.kind, object); err != nil {
				return s.guard.Refuse(err)
			}
			Strip(object)
			size += untrusted.MemorySize(object)
			return s.tally.put(s.kind, object)
		}); err != nil {
			return nil, err
		}
		if limit := s.guard.Limits.Kept; size > limit {
			return nil, s.guard.Refuse(EndlessList(s.kind, limit))
		}
		return page, nil
	})
	pages.PageSize, pages.FullListIfExpired = remote.PageSize, false
	options.ResourceVersion, options.ResourceVersionMatch, options.Limit = "", "", 0
	list, _, err := pages.ListWithAlloc(ctx, options)
	s.listEnded(s.now(), err)
	return list, err
}

// watch waits if the last watches ended immediately.
func (s *feed) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if err := s.rest(ctx, s.now()); err != nil {
		return nil, err
	}
	w, err := s.open(ctx, options)
	if err != nil {
		s.refused(s.now(), err)
		return nil, err
	}
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	s.opened(s.now(), !initial)
	return follow(ctx, w, s), nil
}

// followedWatch passes the events of a watch on. It records when the initial events are complete, and when the watch ends.
// After a refusal of any object of the member, it passes nothing on.
//
// It also drains a watch after it is stopped. controller-runtime passes metadata watches through watch.Filter. The goroutine of
// this filter never ends if an event (such as the error of the closing connection) is in transit while the informer stops.
// Members are added and removed and kubeconfigs rotate, so these goroutines would pile up.
type followedWatch struct {
	watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

func follow(ctx context.Context, inner watch.Interface, s *feed) *followedWatch {
	w := &followedWatch{Interface: inner, events: make(chan watch.Event), stopped: make(chan struct{})}
	go func() {
		defer close(w.events)
		var why error
		for event := range inner.ResultChan() {
			switch {
			case event.Type == watch.Error:
				why = apierrors.FromObject(event.Object)
			case event.Type == watch.Bookmark && endsInitialEvents(event.Object):
				s.following()
			}
			if err := s.admits(event); err != nil {
				_ = s.guard.Refuse(err) // ends the incarnation
			}
			if s.guard.Err() != nil {
				continue
			}
			select {
			case w.events <- event:
			case <-w.stopped:
			}
		}
		s.watchEnded(s.now(), why, ctx.Err() != nil)
	}()
	return w
}

func endsInitialEvents(object runtime.Object) bool {
	o, err := meta.Accessor(object)
	return err == nil && o.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// ResultChan implements watch.Interface.
func (w *followedWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop can be called more than once.
func (w *followedWatch) Stop() {
	w.once.Do(func() {
		close(w.stopped)
		w.Interface.Stop()
	})
}
