package caches

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// apiserver is an API server that lists and watches as the test specifies.
type apiserver struct {
	list  func(metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	// lists and watches that were started.
	lists, watches int
	// mu guards all fields while an informer runs.
	mu sync.Mutex
}

func (s *apiserver) answerList(o metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	s.lists++
	list := s.list
	s.mu.Unlock()
	return list(o)
}

func (s *apiserver) answerWatch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	s.watches++
	begin := s.watch
	s.mu.Unlock()
	return begin(ctx, o)
}

// begun returns the numbers of started lists and watches.
func (s *apiserver) begun() (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.watches
}

// becomes changes how the server answers the next watches.
func (s *apiserver) becomes(watch func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch = watch
}

// after lets time pass, in a bubble of package synctest, and waits until all goroutines are idle.
func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// informed runs an informer of VmGroups of the server until the test ends.
func informed(ctx context.Context, server *apiserver, limits remote.Limits) (*Informers, toolscache.SharedIndexInformer) {
	f := New(remote.NewGuard(limits, remote.NewPace(limits)), settings.Timings{}.WithDefaults(), time.Now)
	informer := f.NewInformer(&toolscache.ListWatch{
		ListWithContextFunc:  func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) { return server.answerList(o) },
		WatchFuncWithContext: server.answerWatch,
	}, &v1alpha1.VmGroup{}, 0, nil)
	_ = informer.SetTransform(f.Keep)
	// The backoff of client-go sleeps by a clock that other bubbles have set.
	_ = informer.SetWatchErrorHandlerWithContext(func(context.Context, *toolscache.Reflector, error) {})
	go informer.RunWithContext(ctx)
	return f, informer
}

func groupNamed(name string) v1alpha1.VmGroup {
	return v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: "u", ResourceVersion: "7",
		Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 1000), v1alpha1.PausedAnnotation: "true"},
	}}
}

// noWatchList is an API server that does not stream lists, and whose watches last.
func noWatchList(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("VmGroup").GroupKind(), "", nil)
	}
	w := watch.NewFake()
	context.AfterFunc(ctx, w.Stop)
	return w, nil
}

// TestWatchesThatEndAtOnceAreBegunSeldom: client-go alone restarts some of them without any pause.
func TestWatchesThatEndAtOnceAreBegunSeldom(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	events := func(of ...watch.Event) watch.Interface {
		w := watch.NewFakeWithChanSize(len(of), false)
		for _, e := range of {
			w.Action(e.Type, e.Object)
		}
		w.Stop()
		return w
	}
	bookmark := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "8"}}
	for name, open := range map[string]func(metav1.ListOptions) (watch.Interface, error){
		"410 instead of a watch": func(metav1.ListOptions) (watch.Interface, error) { return nil, expired },
		"410 in a watch": func(metav1.ListOptions) (watch.Interface, error) {
			return events(watch.Event{Type: watch.Error, Object: &expired.ErrStatus}), nil
		},
		"410 in a watch of 15 seconds": func(metav1.ListOptions) (watch.Interface, error) {
			w := watch.NewRaceFreeFake()
			time.AfterFunc(15*time.Second, func() { w.Action(watch.Error, &expired.ErrStatus); w.Stop() })
			return w, nil
		},
		"a watch of 4 seconds": func(metav1.ListOptions) (watch.Interface, error) { return endedAfter(4 * time.Second), nil },
		"an event and the end": func(metav1.ListOptions) (watch.Interface, error) {
			return events(watch.Event{Type: watch.Bookmark, Object: bookmark}), nil
		},
		"410 only after a list": func(o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return noWatchList(t.Context(), o)
			}
			return nil, expired
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer synctest.Wait()
				defer cancel()
				server := &apiserver{
					list: func(metav1.ListOptions) (runtime.Object, error) {
						return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
					},
					watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) { return open(o) },
				}
				f, _ := informed(ctx, server, remote.DefaultLimits())
				after(time.Hour)
				if lists, watches := server.begun(); watches < 20 || watches > 150 || lists > 150 {
					t.Errorf("%d watches and %d lists were begun in an hour", watches, lists)
				}
				p := f.Problem("https://member")
				if p == nil || p.Reason != v1alpha1.ReasonCacheBehind || !strings.Contains(p.Message, "watch of VmGroups again and again") {
					t.Errorf("said is %+v", p)
				}
				// The server has recovered.
				server.becomes(noWatchList)
				after(5 * time.Minute)
				if p := f.Problem("https://member"); p != nil {
					t.Errorf("a watch lasts, and said is %+v", p)
				}
				if f.guard.Err() != nil {
					t.Errorf("refused: %v", f.guard.Err())
				}
			})
		})
	}
}

// endedAfter is a watch without events.
func endedAfter(lasts time.Duration) watch.Interface {
	w := watch.NewRaceFreeFake()
	time.AfterFunc(lasts, w.Stop)
	return w
}

// TestWatchesThatAProxyEndsAreNoTrouble: some proxies end connections that were idle for 15 seconds. The member is watched
// nearly all the time.
func TestWatchesThatAProxyEndsAreNoTrouble(t *testing.T) {
	for name, streams := range map[string]bool{"streamed lists": true, "listed": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer synctest.Wait()
				defer cancel()
				server := &apiserver{
					list: func(metav1.ListOptions) (runtime.Object, error) {
						return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
					},
					watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
						if o.SendInitialEvents == nil {
							return endedAfter(15 * time.Second), nil
						}
						if !streams {
							return noWatchList(ctx, o)
						}
						w := endedAfter(15 * time.Second)
						w.(*watch.RaceFreeFakeWatcher).Action(watch.Bookmark, &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
							ResourceVersion: "8", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
						}})
						return w, nil
					},
				}
				f, _ := informed(ctx, server, remote.DefaultLimits())
				for range 600 {
					after(time.Second)
					if p := f.Problem("https://member"); p != nil {
						t.Errorf("said is %+v", p)
						return
					}
				}
				if _, watches := server.begun(); watches < 30 || watches > 45 {
					t.Errorf("%d watches of 15 seconds were begun in ten minutes", watches)
				}
			})
		})
	}
}

// TestAListThatDoesNotComeToAnEndIsTold: this holds for the first list, and for a member that has been watched for a long
// time.
func TestAListThatDoesNotComeToAnEndIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		var open *watch.RaceFreeFakeWatcher
		server := &apiserver{watch: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			open = watch.NewRaceFreeFake()
			context.AfterFunc(ctx, open.Stop)
			one := groupNamed("one")
			open.Add(&one)
			return open, nil // the initial events do not end
		}}
		f, informer := informed(ctx, server, remote.DefaultLimits())
		after(50 * time.Second)
		if p := f.Problem("https://member"); p != nil || informer.HasSynced() {
			t.Errorf("after 50 seconds: %+v", p)
		}
		after(15 * time.Second)
		if p := f.Problem("https://member"); p == nil || p.Reason != v1alpha1.ReasonCacheBehind || !strings.Contains(p.Message, "list of VmGroups has not come to an end") {
			t.Errorf("after 65 seconds: %+v", p)
		}
		open.Action(watch.Bookmark, &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "8", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}})
		after(time.Hour)
		if p := f.Problem("https://member"); p != nil || !informer.HasSynced() {
			t.Errorf("at the end of the list: %+v, synced %t", p, informer.HasSynced())
		}
		open.Action(watch.Error, &apierrors.NewResourceExpired("too old").ErrStatus)
		after(65 * time.Second)
		if p := f.Problem("https://member"); p == nil || !strings.Contains(p.Message, "has not come to an end") {
			t.Errorf("when the watch was begun anew: %+v", p)
		}
	})
}

// TestAListIsReadPageByPage and kept without the fields that the operator does not read.
func TestAListIsReadPageByPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		var asked []string
		server := &apiserver{watch: noWatchList, list: func(o metav1.ListOptions) (runtime.Object, error) {
			asked = append(asked, fmt.Sprintf("%s/%d/%s", o.ResourceVersion, o.Limit, o.Continue))
			list := &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}, Items: []v1alpha1.VmGroup{groupNamed("a")}}
			if o.Continue == "more" {
				list.Continue, list.Items[0].Name = "", "b"
			}
			return list, nil
		}}
		f, informer := informed(ctx, server, remote.DefaultLimits())
		after(time.Minute)
		if got := strings.Join(asked, " "); got != "/100/ /100/more" {
			t.Errorf("asked was for %s", got)
		}
		if len(informer.GetStore().List()) != 2 {
			t.Errorf("kept is %+v", informer.GetStore().List())
		}
		for _, o := range informer.GetStore().List() {
			if kept := o.(*v1alpha1.VmGroup).Annotations; len(kept) != 1 || kept[v1alpha1.PausedAnnotation] != "true" {
				t.Errorf("kept are the annotations %v", kept)
			}
		}
		if total := f.tally.total; total < 1000 || total > 6000 || len(f.tally.sizes) != 2 {
			t.Errorf("two groups are tallied as %d bytes in %v", total, f.tally.sizes)
		}
	})
}

// TestAPageThatHasExpiredIsNoEnd: a part of a list must never count as the whole list.
func TestAPageThatHasExpiredIsNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		server := &apiserver{watch: noWatchList, list: func(o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue != "" {
				return nil, apierrors.NewResourceExpired("the list is too old")
			}
			return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "more"}, Items: []v1alpha1.VmGroup{groupNamed("a")}}, nil
		}}
		f, informer := informed(ctx, server, remote.DefaultLimits())
		after(10 * time.Minute)
		if informer.HasSynced() || len(informer.GetStore().List()) > 0 {
			t.Errorf("a part of a list is taken for all: %v", informer.GetStore().List())
		}
		if p := f.Problem("https://member"); p == nil || !strings.Contains(p.Message, `The last answer was "Expired"`) {
			t.Errorf("said is %+v", p)
		}
		if lists, _ := server.begun(); lists > 150 {
			t.Errorf("%d pages were asked for in ten minutes", lists)
		}
	})
}

// TestAMemberHasOnlySoMuchMemory: the limit holds for endless lists, endless streams, and gradual additions.
func TestAMemberHasOnlySoMuchMemory(t *testing.T) {
	limits := remote.DefaultLimits()
	limits.Kept = 8 << 20
	page := func(named func(int) string, more string) *v1alpha1.VmGroupList {
		list := &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: more}}
		for i := range 10 {
			g := groupNamed(named(i))
			g.Status.LastMessage = strings.Repeat("m", 10_000)
			list.Items = append(list.Items, g)
		}
		return list
	}
	var n atomic.Int64
	fresh := func(int) string { return fmt.Sprintf("group-%d", n.Add(1)) }
	streamed := func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
		events := make(chan watch.Event)
		go func() {
			defer close(events)
			for ctx.Err() == nil {
				select {
				case <-ctx.Done():
				case events <- watch.Event{Type: watch.Added, Object: &page(fresh, "").Items[0]}:
				}
			}
		}()
		return watch.NewProxyWatcher(events), nil
	}
	for name, test := range map[string]struct {
		server *apiserver
		says   string
	}{
		"pages without end": {&apiserver{watch: noWatchList, list: func(metav1.ListOptions) (runtime.Object, error) { return page(fresh, "more"), nil }}, "does not end"},
		"the same page without end": {&apiserver{watch: noWatchList, list: func(metav1.ListOptions) (runtime.Object, error) {
			return page(func(i int) string { return fmt.Sprint(i) }, "more"), nil
		}}, "does not end"},
		"empty pages without end": {&apiserver{watch: noWatchList, list: func(metav1.ListOptions) (runtime.Object, error) {
			return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{Continue: "more"}}, nil
		}}, "does not end"},
		"initial events without end": {&apiserver{watch: streamed}, "VmGroups and 0 Namespaces"},
		"events without end after them": {&apiserver{list: func(metav1.ListOptions) (runtime.Object, error) { return page(fresh, ""), nil }, watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return noWatchList(ctx, o)
			}
			return streamed(ctx, o)
		}}, "VmGroups and 0 Namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			n.Store(0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f, _ := informed(ctx, test.server, limits)
			defer context.AfterFunc(f.guard.Context(), cancel)()
			<-f.guard.Context().Done()
			var limit *remote.LimitError
			if err := f.guard.Err(); !errors.As(err, &limit) || !strings.Contains(limit.What, test.says) || !strings.Contains(limit.Remedy, "--member-memory") {
				t.Errorf("refused was %v", err)
			}
		})
	}
}

// TestWhatIsDeletedIsTalliedNoMore: a user who creates and deletes the same groups all day must not reach the limit.
func TestWhatIsDeletedIsTalliedNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		w := watch.NewFake()
		server := &apiserver{list: func(metav1.ListOptions) (runtime.Object, error) {
			return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}, nil
		}, watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return noWatchList(ctx, o)
			}
			return w, nil
		}}
		f, _ := informed(ctx, server, remote.DefaultLimits())
		for i := range 1000 {
			g := groupNamed(fmt.Sprint(i))
			w.Add(g.DeepCopy())
			w.Modify(g.DeepCopy())
			w.Delete(g.DeepCopy())
		}
		synctest.Wait()
		f.tally.mu.Lock()
		defer f.tally.mu.Unlock()
		if f.tally.total != 0 || len(f.tally.sizes) != 0 {
			t.Errorf("%d bytes are left in %d objects", f.tally.total, len(f.tally.sizes))
		}
	})
}

// TestNamesThatNoAPIServerStoresAreRefused: they would become keys, log lines and events.
func TestNamesThatNoAPIServerStoresAreRefused(t *testing.T) {
	changed := func(change func(*v1alpha1.VmGroup)) v1alpha1.VmGroup {
		g := groupNamed("web")
		g.UID = "6d1b1c5e-0000-4000-8000-000000000001"
		change(&g)
		return g
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		group   v1alpha1.VmGroup
		refused string
	}{
		"all as long as may be": {changed(func(g *v1alpha1.VmGroup) { g.Name, g.Namespace, g.UID = long(253), long(63), types.UID(long(64)) }), ""},
		"name":                  {changed(func(g *v1alpha1.VmGroup) { g.Name = long(254) }), `a VmGroup has the name "xxx`},
		"namespace":             {changed(func(g *v1alpha1.VmGroup) { g.Namespace = long(64) }), `VmGroup "web" has the namespace "xxx`},
		"UID":                   {changed(func(g *v1alpha1.VmGroup) { g.UID = types.UID(long(1 << 20)) }), `VmGroup "web" has the UID "xxx`},
		"a name as a path":      {changed(func(g *v1alpha1.VmGroup) { g.Name = "../web" }), `a VmGroup has the name "../web"`},
		"no name":               {changed(func(g *v1alpha1.VmGroup) { g.Name = "" }), `a VmGroup has the name ""`},
		"a namespace as a path": {changed(func(g *v1alpha1.VmGroup) { g.Namespace = "../victim/shop" }), `VmGroup "web" has the namespace "../victim/shop"`},
		"no namespace":          {changed(func(g *v1alpha1.VmGroup) { g.Namespace = "" }), `VmGroup "web" has the namespace ""`},
		"a UID as a path":       {changed(func(g *v1alpha1.VmGroup) { g.UID = "../u" }), `VmGroup "web" has the UID "../u"`},
		"a UID with a member":   {changed(func(g *v1alpha1.VmGroup) { g.UID = "u@victim" }), `VmGroup "web" has the UID "u@victim"`},
		"no UID":                {changed(func(g *v1alpha1.VmGroup) { g.UID = "" }), `VmGroup "web" has the UID ""`},
	} {
		for _, streams := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, streamed %t", name, streams), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer synctest.Wait()
					defer cancel()
					server := &apiserver{
						watch: noWatchList,
						list: func(metav1.ListOptions) (runtime.Object, error) {
							return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []v1alpha1.VmGroup{c.group}}, nil
						},
					}
					if streams {
						server.watch = func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
							w := watch.NewRaceFreeFake()
							context.AfterFunc(ctx, w.Stop)
							w.Add(&c.group)
							w.Action(watch.Bookmark, &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
								ResourceVersion: "8", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"},
							}})
							return w, nil
						}
					}
					f, informer := informed(ctx, server, remote.DefaultLimits())
					seen := 0
					if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen++ }}); err != nil {
						t.Fatal(err)
					}
					after(time.Second)
					var limit *remote.LimitError
					err := f.guard.Err()
					switch {
					case c.refused == "":
						if err != nil || f.tally.total == 0 {
							t.Errorf("refused: %v; %d bytes are kept", err, f.tally.total)
						}
					case !errors.As(err, &limit) || !strings.HasPrefix(limit.What, c.refused) || len(limit.What) > 400:
						t.Errorf("said was %v", err)
					case seen > 0:
						t.Error("it was handed on")
					}
				})
			})
		}
	}
}
