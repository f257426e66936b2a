//go:build unix

package tenancy

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// patience is the timeout of each wait, long enough for a busy machine. It also ends waits for a group that is not
// served any more.
const patience = time.Minute

// groups is the resource of VmGroups.
const groups = "vmgroups"

// made counts the unique names.
var made atomic.Int64

// fresh is a unique name.
func fresh(name string) string { return fmt.Sprintf("%s-%d", name, made.Add(1)) }

// place is a namespace in a cluster's real API server. Its writer is the cluster's administrator.
type place struct {
	t         *testing.T
	w         *world
	cluster   *stack.Cluster
	namespace string
}

func newPlace(t *testing.T, w *world, member, namespace string) *place {
	t.Helper()
	p := &place{t, w, w.Members[member], namespace}
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := p.cluster.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) object(name string) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroup"},
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
	}
}

func (p *place) apply(name string, replicas int32, paused bool) {
	p.t.Helper()
	p.applySpec(name, v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas, Paused: paused})
}

func (p *place) applySpec(name string, spec v1alpha1.VmGroupSpec) {
	p.t.Helper()
	g := p.object(name)
	g.Spec = spec
	if err := p.cluster.Create(p.t.Context(), g); err != nil {
		p.t.Fatalf("apply %s to %s: %v", name, p.cluster.Name, err)
	}
}

func (p *place) patch(name, patch string) {
	p.t.Helper()
	if err := p.cluster.Patch(p.t.Context(), p.object(name), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		p.t.Fatalf("patch %s: %v", name, err)
	}
}

func (p *place) scale(name string, replicas int32) {
	p.t.Helper()
	p.patch(name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
}

// forge writes fields of a group's status that only the operator should write.
func (p *place) forge(name string, status map[string]any) {
	p.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cluster.Status().Patch(p.t.Context(), p.object(name), client.RawPatch(types.MergePatchType, patch)); err != nil {
		p.t.Fatalf("forge the status of %s: %v", name, err)
	}
}

func (p *place) delete(name string) {
	p.t.Helper()
	if err := p.cluster.Delete(p.t.Context(), p.object(name)); err != nil {
		p.t.Fatalf("delete %s: %v", name, err)
	}
}

func (p *place) get(name string) *v1alpha1.VmGroup {
	p.t.Helper()
	g := p.object(name)
	if err := p.cluster.Get(p.t.Context(), client.ObjectKeyFromObject(g), g); err != nil {
		p.t.Fatal(err)
	}
	g.TypeMeta = p.object(name).TypeMeta
	return g
}

// until waits until a group is as wanted. The status must be of the current generation.
func (p *place) until(what, name string, wanted func(*v1alpha1.VmGroup) bool) *v1alpha1.VmGroup {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	g := p.object(name)
	err := await.Condition(ctx, fmt.Sprintf("VmGroup %s/%s of %s: %s", p.namespace, name, p.cluster.Name, what), func(ctx context.Context) (bool, error) {
		err := p.cluster.Get(ctx, client.ObjectKeyFromObject(g), g)
		return err == nil && g.Status.ObservedGeneration == g.Generation && wanted(g), err
	})
	if err != nil {
		p.t.Fatalf("%v\nphase %s, message %q, conditions %s, vms %+v", err, g.Status.Phase, g.Status.LastMessage, stack.Words(g.Status.Conditions), g.Status.VMs)
	}
	return g
}

func (p *place) untilRunning(what, name string, vms int32) *v1alpha1.VmGroup {
	p.t.Helper()
	return p.until(fmt.Sprintf("%s: %d VMs to run", what, vms), name, func(g *v1alpha1.VmGroup) bool { return runs(g, vms) })
}

// runs reports whether a group's status reports all its VMs.
func runs(g *v1alpha1.VmGroup, vms int32) bool {
	return g.Status.Phase == v1alpha1.PhaseRunning && g.Status.ReadyReplicas == vms && g.Status.Replicas == vms && stack.IsReady(g.Status.Conditions)
}

func (p *place) untilGone(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	g := p.object(name)
	if err := await.Condition(ctx, fmt.Sprintf("VmGroup %s/%s of %s to be gone", p.namespace, name, p.cluster.Name), func(ctx context.Context) (bool, error) {
		err := p.cluster.Get(ctx, client.ObjectKeyFromObject(g), g)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}); err != nil {
		p.t.Fatalf("%v; its message: %s; conditions: %s", err, g.Status.LastMessage, stack.Words(g.Status.Conditions))
	}
}
