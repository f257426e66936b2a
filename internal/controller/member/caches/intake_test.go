package caches

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// TestEventsOfAnotherKindAreRefused: client-go would log a line for each.
func TestEventsOfAnotherKindAreRefused(t *testing.T) {
	for _, kind := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer synctest.Wait()
			defer cancel()
			server := &apiserver{watch: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
				w := watch.NewRaceFreeFake()
				context.AfterFunc(ctx, w.Stop)
				w.Action(kind, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", ResourceVersion: "7"}})
				return w, nil
			}}
			f, _ := informed(ctx, server, remote.DefaultLimits())
			after(time.Second)
			var another *remote.KindError
			if err := f.guard.Err(); !errors.As(err, &another) {
				t.Fatalf("%s: refused was %v", kind, err)
			}
			p := remote.AsProblem("https://member", another)
			if p.Reason != v1alpha1.ReasonMemberUnreachable || !p.Lasting || !strings.Contains(p.Message, "the watch of VmGroups contains objects of another kind") {
				t.Errorf("the problem is %+v", p)
			}
		})
	}
}

// TestVersionsThatNoAPIServerHasAreRefused: they are stored as long as a group exists, and do not count toward a limit.
func TestVersionsThatNoAPIServerHasAreRefused(t *testing.T) {
	long, longest := strings.Repeat("9", untrusted.MaxResourceVersion+1), strings.Repeat("9", untrusted.MaxResourceVersion)
	lists := func(own, items string) func(metav1.ListOptions) (runtime.Object, error) {
		return func(metav1.ListOptions) (runtime.Object, error) {
			g := groupNamed("web")
			g.ResourceVersion = items
			return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: own}, Items: []v1alpha1.VmGroup{g}}, nil
		}
	}
	told := func(kind watch.EventType) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		return func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if o.SendInitialEvents != nil {
				return noWatchList(ctx, o)
			}
			w := watch.NewRaceFreeFake()
			context.AfterFunc(ctx, w.Stop)
			g := groupNamed("web")
			g.ResourceVersion = long
			w.Action(kind, &g)
			return w, nil
		}
	}
	for name, test := range map[string]struct {
		server  *apiserver
		refused bool
	}{
		"of an object in a list":          {&apiserver{list: lists("7", long), watch: noWatchList}, true},
		"of a list":                       {&apiserver{list: lists(long, "7"), watch: noWatchList}, true},
		"of an object that was added":     {&apiserver{list: lists("7", "7"), watch: told(watch.Added)}, true},
		"of an object that was deleted":   {&apiserver{list: lists("7", "7"), watch: told(watch.Deleted)}, true},
		"of a bookmark":                   {&apiserver{list: lists("7", "7"), watch: told(watch.Bookmark)}, true},
		"as long as one may be: no limit": {&apiserver{list: lists(longest, longest), watch: noWatchList}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer synctest.Wait()
				defer cancel()
				f, _ := informed(ctx, test.server, remote.DefaultLimits())
				after(time.Second)
				var limit *remote.LimitError
				if is := errors.As(f.guard.Err(), &limit); is != test.refused || is && !strings.Contains(limit.What, "resource version") {
					t.Errorf("refused was %v", f.guard.Err())
				}
			})
		})
	}
}

// TestNamesOfNamespacesAreAsLongAsANamespaceOfAGroup: they are stored while deletions in these namespaces await confirmation.
func TestNamesOfNamespacesAreAsLongAsANamespaceOfAGroup(t *testing.T) {
	for length, refused := range map[int]bool{63: false, 64: true} {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("n", length), UID: "u"}}
		object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		var limit *remote.LimitError
		if err := remote.Named(remote.KindOf(object), object); errors.As(err, &limit) != refused {
			t.Errorf("%d bytes: the error is %v", length, err)
		}
	}
}

// TestAGroupIsUnknownAndNotGoneWhenItsServerShowsANameThatKubernetesDoesNotAllow: a list without the group would delete it from the
// cache.
func TestAGroupIsUnknownAndNotGoneWhenItsServerShowsANameThatKubernetesDoesNotAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		shown, seen, gone := groupNamed("web"), 0, 0
		server := &apiserver{
			list: func(metav1.ListOptions) (runtime.Object, error) {
				return &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []v1alpha1.VmGroup{shown}}, nil
			},
			watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents != nil {
					return noWatchList(ctx, o)
				}
				return nil, apierrors.NewResourceExpired("too old") // a new list of all groups
			},
		}
		f, informer := informed(ctx, server, remote.DefaultLimits())
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(any) { seen++ }, DeleteFunc: func(any) { gone++ }}); err != nil {
			t.Fatal(err)
		}
		after(time.Second)
		server.mu.Lock()
		shown.Namespace = "../victim/shop"
		server.mu.Unlock()
		after(5 * time.Minute)
		var limit *remote.LimitError
		if err := f.guard.Err(); !errors.As(err, &limit) {
			t.Errorf("refused was %v", err)
		}
		if seen != 1 || gone != 0 || len(informer.GetStore().List()) != 1 {
			t.Errorf("%d groups were added and %d deleted, %d are cached; want the one of before", seen, gone, len(informer.GetStore().List()))
		}
	})
}

// TestAContinueTokenThatNoAPIServerHasIsRefused before it becomes part of a URL. A token of the maximum length is used.
func TestAContinueTokenThatNoAPIServerHasIsRefused(t *testing.T) {
	for length, refused := range map[int]bool{untrusted.MaxContinue: false, untrusted.MaxContinue + 1: true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer synctest.Wait()
			defer cancel()
			token, asked := strings.Repeat("t", length), false
			f, _ := informed(ctx, &apiserver{watch: noWatchList, list: func(o metav1.ListOptions) (runtime.Object, error) {
				list := &v1alpha1.VmGroupList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
				if asked = asked || o.Continue == token; !asked {
					list.Continue = token
				}
				return list, nil
			}}, remote.DefaultLimits())
			after(time.Second)
			var limit *remote.LimitError
			if is := errors.As(f.guard.Err(), &limit); is != refused || asked == refused || is && !strings.Contains(limit.What, "continue token") {
				t.Errorf("%d bytes: asked with it: %t, refused was %v", length, asked, f.guard.Err())
			}
		})
	}
}
