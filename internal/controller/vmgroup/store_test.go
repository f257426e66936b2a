package vmgroup

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// A lying API server can answer a write with another spec. In the middle of a pass, that would replace the group of the pass
// with another one.
func TestAnAnswerToAWriteOfStatusChangesNothingButTheVersion(t *testing.T) {
	another := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "one", ResourceVersion: "7"}}
	another.Spec.Template = "another"
	api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(allkinds.Scheme()).Build(), interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			another.DeepCopyInto(object.(*v1alpha1.VmGroup))
			return nil
		},
	})
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "one", ResourceVersion: "6"}}
	next := group.DeepCopy()
	next.Status.Phase = v1alpha1.PhaseRunning
	want := next.DeepCopy()
	want.ResourceVersion = another.ResourceVersion
	if err := (effect.API{Client: api}).WriteStatus(t.Context(), group, next); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(next, want) {
		t.Errorf("the pass continues with %+v, want %+v", next, want)
	}
}

// An API server refuses a JSON patch of a row that does not exist as invalid, and the merge patch that follows as a conflict.
func TestALargeStatusThatDoesNotApplyIsSentWholeAndIsAConflict(t *testing.T) {
	conflict := apierrors.NewConflict(v1alpha1.Resource("vmgroups"), "web", errors.New("it changed"))
	for vms, want := range map[int][]types.PatchType{21: {types.JSONPatchType, types.MergePatchType}, 20: {types.MergePatchType}} {
		var sent []types.PatchType
		api := interceptor.NewClient(fake.NewClientBuilder().WithScheme(allkinds.Scheme()).Build(), interceptor.Funcs{
			SubResourcePatch: func(_ context.Context, _ client.Client, _ string, _ client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
				if sent = append(sent, patch.Type()); patch.Type() == types.JSONPatchType {
					return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", v1alpha1.Resource("vmgroups"), "web", "no such index", 0, false)
				}
				return conflict
			},
		})
		group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "one", ResourceVersion: "6"}}
		group.Status.VMs = make([]v1alpha1.VMStatus, vms)
		if err := (effect.API{Client: api}).WriteStatus(t.Context(), group, group.DeepCopy()); !apierrors.IsConflict(err) || !slices.Equal(sent, want) {
			t.Errorf("with %d VMs, the patches %v were sent, want %v; the error is %v", vms, sent, want, err)
		}
	}
}

// answering is an API server that answers each write with the result of lie, and stores nothing.
func answering(lie func(*v1alpha1.VmGroup)) client.Client {
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(allkinds.Scheme()).Build(), interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			lie(object.(*v1alpha1.VmGroup))
			return nil
		},
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			lie(object.(*v1alpha1.VmGroup))
			return nil
		},
	})
}

// A member can answer each write with megabytes, or with another group each time. State of such answers would never be dropped.
func TestWhatAMemberAnswersToWritesIsNotRememberedUnlessItCanBeTrue(t *testing.T) {
	longest := strings.Repeat("9", untrusted.MaxResourceVersion)
	for story, c := range map[string]struct {
		lie     func(*v1alpha1.VmGroup)
		refused bool
	}{
		"a version of megabytes":    {func(g *v1alpha1.VmGroup) { g.ResourceVersion = strings.Repeat("9", 4<<20) }, true},
		"a version just too long":   {func(g *v1alpha1.VmGroup) { g.ResourceVersion = longest + "9" }, true},
		"the longest version":       {func(g *v1alpha1.VmGroup) { g.ResourceVersion = longest }, false},
		"another group":             {func(g *v1alpha1.VmGroup) { g.UID, g.ResourceVersion = uuid.NewUUID(), "7" }, true},
		"another group's name":      {func(g *v1alpha1.VmGroup) { g.Name, g.ResourceVersion = "another", "7" }, true},
		"another group's namespace": {func(g *v1alpha1.VmGroup) { g.Namespace, g.ResourceVersion = "another", "7" }, true},
	} {
		t.Run(story, func(t *testing.T) {
			group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "one", ResourceVersion: "6"}}
			memory := &memory{}
			store := effect.API{Client: answering(c.lie), Memory: &groupMemory{memory: memory, of: objectOf("member", group)}}
			for range 3 {
				next, err := store.PatchFinalizers(t.Context(), group, controllerutil.AddFinalizer, v1alpha1.VmGroupFinalizer)
				var wrong *effect.AnswerError
				if errors.As(err, &wrong) != c.refused {
					t.Errorf("finalizers: the error is %v", err)
				}
				if err != nil && next != group {
					t.Errorf("the pass continues with %s", next.UID)
				}
				next = group.DeepCopy()
				if err := store.WriteStatus(t.Context(), group, next); errors.As(err, &wrong) != c.refused {
					t.Errorf("status: the error is %v", err)
				}
				if len(next.ResourceVersion) > untrusted.MaxResourceVersion {
					t.Errorf("the pass continues with a version of %d bytes", len(next.ResourceVersion))
				}
			}
			for of, remembered := range memory.groups {
				if of != objectOf("member", group) || len(remembered.resourceVersion) > untrusted.MaxResourceVersion {
					t.Errorf("%s is remembered with a version of %d bytes", of.key, len(remembered.resourceVersion))
				}
			}
			if _, remembers := memory.groups[objectOf("member", group)]; remembers == c.refused {
				t.Errorf("the version of the write is remembered: %v", remembers)
			}
		})
	}
}
