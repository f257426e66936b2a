//go:build unix && slow

package admission

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// leftPatience is the timeout of all VmGroup requests in a member that the operator has left.
const leftPatience = patience

// TestAMemberThatLeftIsUsable detaches a member, in order and after its hub was deleted, and rejoins it: teams can
// continue to create and delete groups, and no VM changes.
func TestAMemberThatLeftIsUsable(t *testing.T) {
	stack.Story(t)
	const name = "team-leaving"
	cluster := joinMember(t, name)
	web := newPlace(t, name, "web", nil)
	old := newPlace(t, name, "old", nil)
	front := runs(t, web, "front", 2)
	runs(t, old, "archive", 1)
	held := runs(t, old, "held", 1)
	// The group waits, with its VM, so that it is still being deleted when the member leaves.
	passes(t, "pause", held.patch("held", `{"metadata": {"annotations": {"`+v1alpha1.PausedAnnotation+`": "true"}}}`))
	if err := held.Delete(t.Context(), held.group("held", 0)); err != nil {
		t.Fatal(err)
	}
	if got := old.get("held"); got.DeletionTimestamp == nil {
		t.Error("the group that waits is not being deleted")
	}
	before := vmsOf(t, name)
	if len(before) != 4 {
		t.Fatalf("%d VMs, want 4: %v", len(before), slices.Sorted(maps.Keys(before)))
	}

	leave(t, name)
	err := old.Get(t.Context(), client.ObjectKey{Namespace: "old", Name: "held"}, &v1alpha1.VmGroup{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the group that was being deleted is still there: %v", err)
	}
	usable(t, web, old)
	sameVMs(t, name, before)

	if err := world.Join(t.Context(), name, kubeconfigOf(t, cluster)); err != nil {
		t.Fatal(err)
	}
	untilJoined(t, name)
	await.Until(t, "the group of before to be the operator's again", func(ctx context.Context) (bool, error) {
		group := &v1alpha1.VmGroup{}
		err := web.Get(ctx, client.ObjectKey{Namespace: "web", Name: "front"}, group)
		return controllerutil.ContainsFinalizer(group, v1alpha1.VmGroupFinalizer) && group.Status.Phase == v1alpha1.PhaseRunning &&
			reflect.DeepEqual(refsOf(group), front.refs), err
	})
	refused(t, web.Create(t.Context(), web.group("large", 1, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })),
		"exceeds the maximum 4 that holds by default: no VmGroupPolicy in mode Enforce limits it here")
	sameVMs(t, name, before)

	setFailurePolicy(t, name, v1alpha1.AdmissionFail)
	more := newPlace(t, name, "more", nil)
	runs(t, more, "extra", 1)
	before = vmsOf(t, name)
	start := stopHub(t)
	await.Until(t, "a refusal without the hub", func(ctx context.Context) (bool, error) {
		err := web.Create(ctx, web.group("new", 1), client.DryRunAll)
		return apierrors.IsInternalError(err), nil
	})
	for _, step := range admission.Leave() {
		takeStep(t, cluster, step)
	}
	usable(t, web, more)
	sameVMs(t, name, before)
	start()
}

// joinMember starts one more member cluster and joins it. It leaves, and is deleted, with the test.
func joinMember(t *testing.T, name string) *stack.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cluster, err := world.StartCluster(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		delete(world.Members, name)
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	world.Members[name] = cluster
	t.Cleanup(func() { leave(t, name) })
	if err := world.Join(ctx, name, kubeconfigOf(t, cluster)); err != nil {
		t.Fatal(err)
	}
	untilJoined(t, name)
	return cluster
}

func kubeconfigOf(t *testing.T, cluster *stack.Cluster) []byte {
	t.Helper()
	content, err := cluster.MemberKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func untilJoined(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := untilAdmissionReady(ctx, name); err != nil {
		t.Fatal(err)
	}
}

// leave deletes a MemberCluster and waits until the operator has removed its finalizer.
func leave(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := world.Hub.Delete(ctx, mc.DeepCopy()); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
	if err := await.Condition(ctx, name+" to leave", func(ctx context.Context) (bool, error) {
		err := world.Hub.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}); err != nil {
		t.Error(err)
	}
}

// running is a group with VMs, by name.
type running struct {
	*place
	refs map[string]string
}

// runs creates a group and waits until its VMs run.
func runs(t *testing.T, p *place, name string, replicas int32) running {
	t.Helper()
	if err := p.Create(t.Context(), p.group(name, replicas)); err != nil {
		t.Fatal(err)
	}
	group := &v1alpha1.VmGroup{}
	await.Until(t, "VmGroup "+name+" to run", func(ctx context.Context) (bool, error) {
		err := p.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, group)
		return group.Status.Phase == v1alpha1.PhaseRunning && group.Status.ReadyReplicas == replicas, err
	})
	return running{p, refsOf(group)}
}

func refsOf(group *v1alpha1.VmGroup) map[string]string {
	refs := map[string]string{}
	for _, vm := range group.Status.VMs {
		refs[vm.Name] = vm.MoRef
	}
	return refs
}

// usable checks that no admission of the operator is left in the member: a group of kept can be created and deleted,
// and the namespace of all deleted groups can be deleted.
func usable(t *testing.T, kept, gone *place) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), leftPatience)
	defer cancel()
	for _, known := range objects.Known() {
		left := &unstructured.Unstructured{}
		left.SetGroupVersionKind(known.GroupVersionKind)
		if err := kept.Get(ctx, client.ObjectKey{Name: known.Name}, left); !isGone(err) {
			t.Errorf("%s %s is still there: %v", known.Kind, known.Name, err)
		}
	}
	claim := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: install.ClaimName}
	if err := kept.Get(ctx, claim, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the claim is still there: %v", err)
	}
	key := client.ObjectKey{Namespace: kept.namespace, Name: "new"}
	// More than the original operator's limits: no admission is left. API servers learn of that a moment later.
	large := kept.group(key.Name, 1, func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })
	untilWithin(ctx, t, "a group to be created", func(ctx context.Context) (bool, error) {
		err := kept.Create(ctx, large.DeepCopy())
		return err == nil, err
	})
	passes(t, "scaling a group", scale(ctx, kept, kept.namespace, key.Name, 3))
	passes(t, "deleting a group", kept.Delete(ctx, kept.group(key.Name, 0)))
	untilWithin(ctx, t, "the group to go", func(ctx context.Context) (bool, error) {
		err := kept.Get(ctx, key, &v1alpha1.VmGroup{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	deleteNamespace(ctx, t, gone)
}

// deleteNamespace replaces the namespace controller, which does not run here: it deletes the content of a namespace
// that is being deleted, and then finalizes the namespace.
func deleteNamespace(ctx context.Context, t *testing.T, p *place) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	passes(t, "deleting a namespace", p.Delete(ctx, namespace))
	untilWithin(ctx, t, "the groups of the namespace to go", func(ctx context.Context) (bool, error) {
		var groups v1alpha1.VmGroupList
		if err := p.List(ctx, &groups, client.InNamespace(p.namespace)); err != nil {
			return false, err
		}
		for i := range groups.Items {
			if err := p.Delete(ctx, &groups.Items[i]); client.IgnoreNotFound(err) != nil {
				return false, err
			}
		}
		return len(groups.Items) == 0, nil
	})
	namespaces, err := corev1client.NewForConfig(p.Config)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	namespace.Spec.Finalizers = nil
	if _, err := namespaces.Namespaces().Finalize(ctx, namespace, metav1.UpdateOptions{}); err != nil {
		t.Errorf("let the namespace go: %v", err)
	}
	if err := p.Get(ctx, client.ObjectKeyFromObject(namespace), namespace); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace is still there: %v", err)
	}
}

// takeStep runs in a member the commands that `manager render --leave` prints.
func takeStep(t *testing.T, cluster *stack.Cluster, step admission.Step) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), leftPatience)
	defer cancel()
	if step.LetGo != "" {
		var groups v1alpha1.VmGroupList
		if err := cluster.List(ctx, &groups); err != nil {
			t.Fatal(err)
		}
		for i := range groups.Items {
			group := &groups.Items[i]
			base := group.DeepCopy()
			if controllerutil.RemoveFinalizer(group, step.LetGo) {
				passes(t, "letting "+group.Name+" go", cluster.Patch(ctx, group, client.MergeFrom(base)))
			}
		}
		return
	}
	kind, err := cluster.RESTMapper().KindFor(schema.GroupVersionResource{Group: step.Delete.Group, Resource: step.Delete.Resource})
	if meta.IsNoMatchError(err) {
		return // the script first checks for existing objects
	}
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(step.Delete.Namespace)
	object.SetName(step.Delete.Name)
	// An API server applies a policy for a moment after its binding was deleted.
	untilWithin(ctx, t, fmt.Sprintf("%s %s to be deleted", kind.Kind, step.Delete.Name), func(ctx context.Context) (bool, error) {
		err := client.IgnoreNotFound(cluster.Delete(ctx, object.DeepCopy()))
		return err == nil, err
	})
}

func untilWithin(ctx context.Context, t *testing.T, what string, done func(context.Context) (bool, error)) {
	t.Helper()
	if err := await.Condition(ctx, what, done); err != nil {
		t.Fatal(err)
	}
}

// vmsOf returns the VMs in the folders of a member, read directly from vCenter.
func vmsOf(t *testing.T, member string) map[string]sim.VM {
	t.Helper()
	vms, err := world.Person.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(vms, func(path string, _ sim.VM) bool { return !strings.Contains(path, "/"+member+"/") })
	return vms
}

func sameVMs(t *testing.T, member string, want map[string]sim.VM) {
	t.Helper()
	if got := vmsOf(t, member); !reflect.DeepEqual(got, want) {
		t.Errorf("the VMs of %s are\n%+v, want\n%+v", member, got, want)
	}
}
