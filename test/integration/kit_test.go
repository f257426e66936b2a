//go:build unix

package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// patience is the timeout of each wait, long enough for a busy machine.
const patience = 3 * time.Minute

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// place is a namespace of a member for a single test.
type place struct {
	t         *testing.T
	w         *world
	ctx       context.Context
	cluster   *stack.Cluster
	member    string
	namespace string
}

func newPlace(t *testing.T, w *world, member, namespace string, labels ...string) *place {
	t.Helper()
	p := &place{t: t, w: w, ctx: t.Context(), cluster: w.Members[member], member: member, namespace: namespace}
	set := map[string]string{}
	for i := 0; i+1 < len(labels); i += 2 {
		set[labels[i]] = labels[i+1]
	}
	if err := p.cluster.Create(p.ctx, namespaceObject(namespace, set)); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	return p
}

// group returns a VmGroup that is not applied yet.
func (p *place) group(name string, replicas int32, change ...func(*v1alpha1.VmGroup)) *v1alpha1.VmGroup {
	g := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas},
	}
	for _, c := range change {
		c(g)
	}
	return g
}

// apply creates a group, and deletes it at the test's end unless the test did. A new API server knows a CRD before its
// mutating policies do, and requests a retry.
func (p *place) apply(g *v1alpha1.VmGroup) *v1alpha1.VmGroup {
	p.t.Helper()
	await.Until(p.t, fmt.Sprintf("%s/%s to be applied to %s", g.Namespace, g.Name, p.member), func(ctx context.Context) (bool, error) {
		err := p.cluster.Create(ctx, g)
		if err != nil && !apierrors.IsServiceUnavailable(err) {
			p.t.Fatalf("apply %s/%s to %s: %v", g.Namespace, g.Name, p.member, err)
		}
		return err == nil, err
	})
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := p.cluster.Delete(ctx, g); client.IgnoreNotFound(err) != nil {
			p.t.Errorf("clean up: %v", err)
		}
		if err := p.waitGone(ctx, g.Name); err != nil {
			p.t.Errorf("clean up: %v", err)
		}
	})
	return g
}

func (p *place) patch(name, patch string) {
	p.t.Helper()
	p.patchWith(p.ctx, name, patch)
}

// patchWith is for clean-up, when the test's own context has ended.
func (p *place) patchWith(ctx context.Context, name, patch string) {
	p.t.Helper()
	g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	if err := p.cluster.Patch(ctx, g, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		p.t.Fatalf("patch %s: %v", name, err)
	}
}

func (p *place) delete(name string) {
	p.t.Helper()
	if err := p.cluster.Delete(p.ctx, p.group(name, 0)); err != nil {
		p.t.Fatalf("delete %s: %v", name, err)
	}
}

func (p *place) get(name string) *v1alpha1.VmGroup {
	p.t.Helper()
	g := &v1alpha1.VmGroup{}
	if err := p.cluster.Get(p.ctx, key(p.namespace, name), g); err != nil {
		p.t.Fatal(err)
	}
	return g
}

// until waits until a group is as wanted, and returns it. The status must be of the current generation.
func (p *place) until(what, name string, wanted func(*v1alpha1.VmGroup) bool) *v1alpha1.VmGroup {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	g := &v1alpha1.VmGroup{}
	err := await.Condition(ctx, fmt.Sprintf("VmGroup %s/%s of %s: %s", p.namespace, name, p.member, what), func(ctx context.Context) (bool, error) {
		err := p.cluster.Get(ctx, key(p.namespace, name), g)
		return err == nil && g.Status.ObservedGeneration == g.Generation && wanted(g), err
	})
	if err != nil {
		p.t.Fatalf("%v\nphase %s, message %q, conditions %s, vms %+v", err, g.Status.Phase, g.Status.LastMessage, stack.Words(g.Status.Conditions), g.Status.VMs)
	}
	return g
}

func (p *place) untilRunning(name string, vms int32) *v1alpha1.VmGroup {
	p.t.Helper()
	return p.until(fmt.Sprintf("%d VMs to run", vms), name, func(g *v1alpha1.VmGroup) bool {
		return g.Status.Phase == v1alpha1.PhaseRunning && g.Status.ReadyReplicas == vms && g.Status.Replicas == vms &&
			stack.IsReady(g.Status.Conditions)
	})
}

// untilSays waits for a condition with a reason, and checks that its message names the subject.
func (p *place) untilSays(name, conditionType string, status metav1.ConditionStatus, reason string, mentions ...string) *v1alpha1.VmGroup {
	p.t.Helper()
	// The message too: its items can appear one after another.
	return p.until(fmt.Sprintf("%s=%s with reason %s and a message with %q", conditionType, status, reason, mentions), name, func(g *v1alpha1.VmGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, conditionType)
		return c != nil && c.Status == status && c.Reason == reason &&
			!slices.ContainsFunc(mentions, func(m string) bool { return !strings.Contains(c.Message, m) })
	})
}

func (p *place) untilGone(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := p.waitGone(ctx, name); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) waitGone(ctx context.Context, name string) error {
	g := &v1alpha1.VmGroup{}
	err := await.Condition(ctx, fmt.Sprintf("VmGroup %s/%s of %s to be gone", p.namespace, name, p.member), func(ctx context.Context) (bool, error) {
		err := p.cluster.Get(ctx, key(p.namespace, name), g)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err != nil {
		return fmt.Errorf("%w; its message: %s; conditions: %s", err, g.Status.LastMessage, stack.Words(g.Status.Conditions))
	}
	return nil
}

// inVCenter returns the VMs below a folder, read directly from vCenter.
func inVCenter(t *testing.T, w *world, below string) map[string]sim.VM {
	t.Helper()
	vms, err := w.Person.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(vms, func(path string, _ sim.VM) bool { return !strings.HasPrefix(path, below+"/") })
	return vms
}

func paths(vms map[string]sim.VM) string {
	return strings.Join(slices.Sorted(maps.Keys(vms)), ", ")
}

// untilVCenterHolds waits until vCenter holds exactly n VMs below a folder.
func untilVCenterHolds(t *testing.T, w *world, below string, n int) map[string]sim.VM {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var vms map[string]sim.VM
	if err := await.Condition(ctx, fmt.Sprintf("%d VMs below %s", n, below), func(context.Context) (bool, error) {
		vms = inVCenter(t, w, below)
		return len(vms) == n, nil
	}); err != nil {
		t.Fatalf("%v; there are: %s", err, paths(vms))
	}
	return vms
}

// folderOf returns the inventory path of a group's folder.
func folderOf(t *testing.T, g *v1alpha1.VmGroup) string {
	t.Helper()
	if g.Status.Folder == nil || g.Status.Folder.MoRef == "" {
		t.Fatalf("status of %s has no folder", g.Name)
	}
	return g.Status.Folder.Path
}

// moRef is a managed object reference as the simulator's client has it.
type moRef = vimtypes.ManagedObjectReference

func reasonOf(conditions []metav1.Condition, conditionType string) string {
	if c := meta.FindStatusCondition(conditions, conditionType); c != nil {
		return c.Reason
	}
	return ""
}
