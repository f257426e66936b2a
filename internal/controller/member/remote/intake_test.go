package remote

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

func TestNamesAreAsKubernetesAllowsThem(t *testing.T) {
	const uid = "6d1b1c5e-0000-4000-8000-000000000001"
	for kind, objects := range map[string]struct{ allowed, refused []metav1.ObjectMeta }{
		"VmGroup": {
			allowed: []metav1.ObjectMeta{
				{Namespace: "shop", Name: "web", UID: uid}, {Namespace: "1", Name: "a.b-c.d", UID: "A_b.c-1"}, {Namespace: strings.Repeat("n", 63), Name: strings.Repeat("g", 253), UID: types.UID(strings.Repeat("u", 64))},
			},
			refused: []metav1.ObjectMeta{
				{Namespace: "shop", Name: "Web", UID: uid}, {Namespace: "shop", Name: "a/b", UID: uid}, {Namespace: "shop", Name: "..", UID: uid}, {Namespace: "shop", UID: uid},
				{Namespace: "shop", Name: strings.Repeat("g", 254), UID: uid}, {Namespace: "shop", Name: "web\x00", UID: uid},
				{Namespace: "../victim/shop", Name: "web", UID: uid}, {Namespace: "a.b", Name: "web", UID: uid}, {Namespace: "", Name: "web", UID: uid}, {Namespace: ".", Name: "web", UID: uid},
				{Namespace: strings.Repeat("n", 64), Name: "web", UID: uid},
				{Namespace: "shop", Name: "web"}, {Namespace: "shop", Name: "web", UID: ".."}, {Namespace: "shop", Name: "web", UID: "a/b"}, {Namespace: "shop", Name: "web", UID: "a b"},
				{Namespace: "shop", Name: "web", UID: "$(reboot)"}, {Namespace: "shop", Name: "web", UID: types.UID(strings.Repeat("u", 65))},
			},
		},
		"Namespace": {
			allowed: []metav1.ObjectMeta{{Name: "shop", UID: uid}},
			refused: []metav1.ObjectMeta{{Name: "../victim/shop", UID: uid}, {Name: "a.b", UID: uid}, {Name: "shop"}, {Name: "shop", UID: "a/b"}, {Namespace: "x", Name: "shop", UID: uid}},
		},
		"Secret": {
			allowed: []metav1.ObjectMeta{{Namespace: "shop", Name: "init", UID: uid}, {}},
			refused: []metav1.ObjectMeta{{Namespace: "../x", Name: "init", UID: uid}, {Namespace: "shop", Name: "../init", UID: uid}, {Namespace: "shop", Name: "init", UID: "../x"}},
		},
		"ClusterRole": {allowed: []metav1.ObjectMeta{{Name: "system:kube-scheduler", UID: uid}}, refused: []metav1.ObjectMeta{{Name: "system/x", UID: uid}, {Name: "%2e%2e", UID: uid}}},
	} {
		for _, m := range objects.allowed {
			if err := Named(kind, &metav1.PartialObjectMetadata{ObjectMeta: m}); err != nil {
				t.Errorf("%s %q of %q with UID %q is refused: %v", kind, m.Name, m.Namespace, m.UID, err)
			}
		}
		for _, m := range objects.refused {
			var limit *LimitError
			if err := Named(kind, &metav1.PartialObjectMetadata{ObjectMeta: m}); !errors.As(err, &limit) {
				t.Errorf("%s %q of %q with UID %q: the error is %v", kind, m.Name, m.Namespace, m.UID, err)
			}
		}
	}
}

// lying answers all reads and writes with objects of a namespace that Kubernetes does not allow.
func lying() client.Client {
	lie := func(o client.Object, err error) error {
		o.SetUID("u")
		o.SetNamespace("../victim/shop")
		return err
	}
	listed := func(list client.ObjectList) {
		switch list := list.(type) {
		case *v1alpha1.VmGroupList:
			list.Items = []v1alpha1.VmGroup{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "../u"}}}
		case *metav1.PartialObjectMetadataList:
			list.Items = []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Namespace: "../victim/shop", Name: "web", UID: "u"}}}
		}
	}
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(allkinds.Scheme()).Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			return lie(o, nil)
		},
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			listed(list)
			return nil
		},
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			return lie(o, nil)
		},
		Update: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.UpdateOption) error {
			return lie(o, nil)
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return lie(o, nil)
		},
		SubResourceUpdate: func(_ context.Context, _ client.Client, _ string, o client.Object, _ ...client.SubResourceUpdateOption) error {
			return lie(o, nil)
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			return lie(o, nil)
		},
	})
}

// TestWhatAServerAnswersIsCheckedWhereverItIsRead: single objects, lists, lists of metadata, and answers to writes.
func TestWhatAServerAnswersIsCheckedWhereverItIsRead(t *testing.T) {
	key, patch := client.ObjectKey{Namespace: "shop", Name: "web"}, client.RawPatch(types.MergePatchType, []byte("{}"))
	group := func() *v1alpha1.VmGroup {
		return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	}
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroupList"))
	for story, call := range map[string]func(ctx context.Context, g *Guard) error{
		"a group of the API server": func(ctx context.Context, g *Guard) error { return g.Reader(lying()).Get(ctx, key, group()) },
		"a Secret":                  func(ctx context.Context, g *Guard) error { return g.Client(lying()).Get(ctx, key, &corev1.Secret{}) },
		"groups of the API server":  func(ctx context.Context, g *Guard) error { return g.Reader(lying()).List(ctx, &v1alpha1.VmGroupList{}) },
		"metadata of groups":        func(ctx context.Context, g *Guard) error { return g.Reader(lying()).List(ctx, metadata) },
		"a namespace, without a cache": func(ctx context.Context, g *Guard) error {
			return g.uncached(lying()).Get(ctx, key, &corev1.Namespace{})
		},
		"groups, without a cache":          func(ctx context.Context, g *Guard) error { return g.uncached(lying()).List(ctx, metadata) },
		"an answer to a creation":          func(ctx context.Context, g *Guard) error { return g.Client(lying()).Create(ctx, group()) },
		"an answer to an update":           func(ctx context.Context, g *Guard) error { return g.Client(lying()).Update(ctx, group()) },
		"an answer to a patch":             func(ctx context.Context, g *Guard) error { return g.Client(lying()).Patch(ctx, group(), patch) },
		"an answer to an update of status": func(ctx context.Context, g *Guard) error { return g.Client(lying()).Status().Update(ctx, group()) },
		"an answer to a patch of status": func(ctx context.Context, g *Guard) error {
			return g.Client(lying()).Status().Patch(ctx, group(), patch)
		},
	} {
		g := NewGuard(DefaultLimits(), NewPace(DefaultLimits()))
		var limit *LimitError
		if err := call(t.Context(), g); !errors.As(err, &limit) || g.Err() == nil {
			t.Errorf("%s: the error is %v, and refused was %v", story, err, g.Err())
		}
	}
}

func TestTheKindOfAnObjectIsThatOfItsList(t *testing.T) {
	of := func(o client.Object, kind string) runtime.Object {
		o.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		return o
	}
	for object, want := range map[runtime.Object]string{
		&v1alpha1.VmGroup{}: "VmGroup", &v1alpha1.VmGroupList{}: "VmGroup", of(&metav1.PartialObjectMetadata{}, "Namespace"): "Namespace",
		of(&metav1.PartialObjectMetadata{}, "VmGroupList"): "VmGroup",
	} {
		if got := KindOf(object); got != want {
			t.Errorf("the kind of %T is %s, want %s", object, got, want)
		}
	}
}
