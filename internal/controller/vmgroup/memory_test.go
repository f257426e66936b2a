package vmgroup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A namespace can have 1.5 MiB of labels, and thousands of groups. The cache returns a copy for each.
func TestLabelsOfANamespaceAreNotKeptForEachGroup(t *testing.T) {
	const groups, labels = 50, 20_000
	var m memory
	set := policy.Compile(nil)
	before := heap()
	for i := range groups {
		copied := make(map[string]string, labels)
		for n := range labels {
			copied[fmt.Sprint(n)] = ""
		}
		m.evaluate(set, object{key: vsphere.KeyOf("member", fmt.Sprint(i))}, policy.Requester{Namespace: "team", NamespaceLabels: copied}, &v1alpha1.VmGroupSpec{}, "")
	}
	if after := heap(); after > before+8<<20 {
		t.Errorf("%d groups keep %d MiB", groups, (after-before)>>20)
	}
	runtime.KeepAlive(&m)
}

func TestAnotherLabelOfTheNamespaceIsAnotherQuestion(t *testing.T) {
	var m memory
	set := policy.Compile([]v1alpha1.VmGroupPolicy{{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match:  v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b", "c": "d"}}},
			Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: new(int32(1))}},
			Mode:   v1alpha1.PolicyEnforce,
		},
	}})
	for _, labels := range []map[string]string{
		{"a": "b", "c": "d"}, {"a": "d", "c": "b"}, {"c": "d", "a": "b"}, {"a": "b"}, {"ab": "", "cd": ""}, {"a": "b", "c": "d"}, nil,
	} {
		r := policy.Requester{Member: "m", Namespace: "team", NamespaceLabels: labels}
		spec := &v1alpha1.VmGroupSpec{CPU: 2}
		got, want := m.evaluate(set, object{}, r, spec, ""), set.Evaluate(r, *spec, "")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("labels %v: %v, want %v", labels, got, want)
		}
	}
}

// The event of a group's removal comes once, and can come while a pass over it waits for an answer of its API server.
func TestAGroupThatIsRemovedDuringAPassIsNotRemembered(t *testing.T) {
	for _, write := range []string{"finalizers", "status"} {
		t.Run(write, func(t *testing.T) {
			r := newRig(t)
			r.inform(r.Reconciler)
			gone := false
			remove := func(of string, object client.Object, err error) error {
				if of != write || err != nil {
					return err
				}
				gone = true
				group, ctx := object.DeepCopyObject().(*v1alpha1.VmGroup), t.Context()
				group.Finalizers = nil // its API server reports that; see vanished for the other case
				if err := errors.Join(r.member.Update(ctx, group), r.member.Delete(ctx, group)); err != nil {
					t.Fatal(err)
				}
				r.feed.Groups(v1alpha1.LocalMember, nil).Delete(ctx, event.DeleteEvent{Object: group}, nil)
				return nil
			}
			r.Clusters = testCluster{client: interceptor.NewClient(r.member.(client.WithWatch), interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
					return remove("finalizers", object, c.Patch(ctx, object, patch, opts...))
				},
				SubResourcePatch: func(ctx context.Context, c client.Client, of string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					return remove(of, object, c.SubResource(of).Patch(ctx, object, patch, opts...))
				},
			})}
			for range 5 {
				if !gone {
					_, _ = r.pass() // an error is one of a group that no longer exists
				}
			}
			if !gone {
				t.Fatal("nothing was written")
			}
			if _, _, known := r.Fleet.GroupAt(refOf(r.request)); known || len(r.memory.groups) != 0 || r.isUrgent() {
				t.Errorf("it is remembered: %v, %d groups, urgent %t", known, len(r.memory.groups), r.isUrgent())
			}
		})
	}
}

// A cache can have a group before its event is handled: the state that its pass stores must stay.
func TestAGroupOfWhichThereAreNoNewsYetIsRemembered(t *testing.T) {
	r := newRig(t)
	r.mustPass()
	r.mustPass()
	if n := r.CountVCenter(t.Context(), "default", nil); n != 0 {
		t.Fatalf("%d groups are known", n)
	}
	if r.memory.of(r.object()).resourceVersion != r.group().ResourceVersion {
		t.Error("the version of the last write is forgotten")
	}
}

// A group's texts are in the cache, where they are tallied. The state of a group is not: it must hold no text that the schema would not allow.
func TestWhatIsRememberedOfAGroupIsSmallWhateverItsSpecSays(t *testing.T) {
	const groups = 20
	long := func(i int) string { return strings.Repeat(fmt.Sprint(i%10), 1<<20) }
	r, before := newRig(t), heap()
	set := policy.Compile([]v1alpha1.VmGroupPolicy{{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       v1alpha1.VmGroupPolicySpec{Templates: &v1alpha1.PolicyTemplates{Allow: []string{"debian-*"}}, Mode: v1alpha1.PolicyEnforce},
	}})
	for i := range groups {
		g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint(i))}}
		g.Spec.Template = long(i)
		of := objectOf("member-uid", g)
		if violations := r.memory.evaluate(set, of, policy.Requester{Member: "m"}, &g.Spec, ""); len(violations) == 0 {
			t.Fatal("nothing is violated")
		}
	}
	if after := heap(); after > before+4<<20 {
		t.Errorf("%d groups keep %d MiB", groups, (after-before)>>20)
	}
	runtime.KeepAlive(r)
}
