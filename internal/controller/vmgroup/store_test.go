package vmgroup

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// Who answers at a member's address may answer a write with another object. In the middle of a pass that would put another group in place of the one that
// the pass is about.
func TestAnAnswerToAWriteOfStatusChangesNothingButTheVersion(t *testing.T) {
	another := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "another", ResourceVersion: "7"}}
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
	if err := (apiStore{client: api}).writeStatus(t.Context(), group, next); err != nil {
		t.Fatal(err)
	}
	if !equality.Semantic.DeepEqual(next, want) {
		t.Errorf("the pass goes on with %+v, want %+v", next, want)
	}
}
