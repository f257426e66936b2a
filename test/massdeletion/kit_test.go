//go:build unix && slow

package massdeletion

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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

// place is a namespace with groups of one size.
type place struct {
	t         *testing.T
	cluster   *stack.Cluster
	member    string
	namespace string
	// root is the operator's folder in vCenter.
	root string
}

func newPlace(t *testing.T, member, namespace string) *place {
	t.Helper()
	p := &place{t, shared.Members[member], member, namespace, root}
	if err := p.cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) object(name string) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
}

// fill creates groups web-0, web-1 and so on, waits until all have their VMs, and returns these.
func (p *place) fill(groups int, replicas int32) map[string]sim.VM {
	p.t.Helper()
	for _, name := range names(0, groups) {
		p.create(name, replicas)
	}
	p.untilAll(names(0, groups), "to run", func(g *v1alpha1.VmGroup) bool { return runs(g, replicas) })
	vms := p.vms()
	if len(vms) != groups*int(replicas) {
		p.t.Fatalf("%d VMs are there, want %d", len(vms), groups*int(replicas))
	}
	return vms
}

// create applies a group, which may have an annotation: its name, and its value.
func (p *place) create(name string, replicas int32, annotation ...string) {
	p.t.Helper()
	g := p.object(name)
	if len(annotation) == 2 {
		metav1.SetMetaDataAnnotation(&g.ObjectMeta, annotation[0], annotation[1])
	}
	g.Spec = v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas}
	if err := p.cluster.Create(p.t.Context(), g); err != nil {
		p.t.Fatal(err)
	}
}

// names of groups, from one number to before another.
func names(from, to int) []string {
	all := make([]string, 0, to-from)
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("web-%d", i))
	}
	return all
}

func runs(g *v1alpha1.VmGroup, vms int32) bool {
	return g.Status.ObservedGeneration == g.Generation && g.Status.ReadyReplicas == vms && g.Status.Replicas == vms && stack.IsReady(g.Status.Conditions)
}

// untilAll waits until groups of these names are as wanted, and returns them.
func (p *place) untilAll(of []string, what string, wanted func(*v1alpha1.VmGroup) bool) map[string]*v1alpha1.VmGroup {
	p.t.Helper()
	found := map[string]*v1alpha1.VmGroup{}
	await.NoError(p.t, fmt.Sprintf("%d groups of %s/%s %s", len(of), p.member, p.namespace, what), func() error {
		var list v1alpha1.VmGroupList
		if err := p.cluster.List(p.t.Context(), &list, client.InNamespace(p.namespace)); err != nil {
			return err
		}
		clear(found)
		for i := range list.Items {
			found[list.Items[i].Name] = &list.Items[i]
		}
		for _, name := range of {
			if g := found[name]; g == nil || !wanted(g) {
				return fmt.Errorf("%s is %s", name, words(g))
			}
		}
		return nil
	})
	maps.DeleteFunc(found, func(name string, _ *v1alpha1.VmGroup) bool { return !slices.Contains(of, name) })
	return found
}

func words(g *v1alpha1.VmGroup) string {
	if g == nil {
		return "gone"
	}
	return fmt.Sprintf("in phase %s; %s", g.Status.Phase, stack.Words(g.Status.Conditions))
}

func (p *place) untilGone(of []string) {
	p.t.Helper()
	await.NoError(p.t, fmt.Sprintf("%d groups of %s/%s to be gone", len(of), p.member, p.namespace), func() error {
		for _, name := range of {
			g := p.object(name)
			if err := p.cluster.Get(p.t.Context(), client.ObjectKeyFromObject(g), g); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s is %s (%w)", name, words(g), err)
			}
		}
		return nil
	})
}

// untilHeld waits until groups report that their removal is held. Their message must contain the remedy, with the
// group's own UID: see the given parts.
func (p *place) untilHeld(of []string, parts func(*v1alpha1.VmGroup) []string) map[string]*v1alpha1.VmGroup {
	p.t.Helper()
	return p.untilAll(of, "to be held", func(g *v1alpha1.VmGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonMassDeletion &&
			!slices.ContainsFunc(parts(g), func(part string) bool { return !strings.Contains(c.Message, part) })
	})
}

// both are the commands for the two remedies of a held deletion.
func both(g *v1alpha1.VmGroup) []string {
	return []string{goOn(g), fmt.Sprintf("kubectl annotate vmgroup %s -n %s --overwrite %s=%s", g.Name, g.Namespace, v1alpha1.ReleaseAnnotation, g.UID)}
}

func goOn(g *v1alpha1.VmGroup) string {
	return fmt.Sprintf("kubectl annotate vmgroup %s -n %s %s=%s", g.Name, g.Namespace, v1alpha1.ConfirmDeletionAnnotation, g.UID)
}

func (p *place) delete(of []string) {
	p.t.Helper()
	for _, name := range of {
		if err := p.cluster.Delete(p.t.Context(), p.object(name)); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *place) scale(of []string, replicas int) {
	p.t.Helper()
	for _, name := range of {
		patch(p.t, p.cluster, p.object(name), fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	}
}

func annotate(t *testing.T, cluster *stack.Cluster, object client.Object, annotation, value string) {
	t.Helper()
	patch(t, cluster, object, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotation, value))
}

func patch(t *testing.T, cluster *stack.Cluster, object client.Object, patch string) {
	t.Helper()
	if err := cluster.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// vms are the namespace's VMs in vCenter, by reference.
func (p *place) vms() map[string]sim.VM {
	p.t.Helper()
	all, err := shared.Person.VMs(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	vms := map[string]sim.VM{}
	for path, vm := range all {
		if strings.HasPrefix(path, p.root+"/"+p.member+"/"+p.namespace+"/") {
			vms[vm.Ref.Value] = vm
		}
	}
	return vms
}

// without returns VMs except those of groups with these names.
func without(vms map[string]sim.VM, groups []string) map[string]sim.VM {
	left := maps.Clone(vms)
	maps.DeleteFunc(left, func(_ string, vm sim.VM) bool {
		parts := strings.Split(vm.Path, "/")
		group, _, _ := strings.Cut(parts[len(parts)-2], ".")
		return slices.Contains(groups, group)
	})
	return left
}

// same checks that the namespace has exactly these VMs, and that they run.
func (p *place) same(want map[string]sim.VM) {
	p.t.Helper()
	if wrong := differ(p.vms(), want); wrong != nil {
		p.t.Fatal(wrong)
	}
}

func (p *place) untilSame(want map[string]sim.VM) {
	p.t.Helper()
	await.NoError(p.t, fmt.Sprintf("%d VMs to be left", len(want)), func() error { return differ(p.vms(), want) })
}

func differ(have, want map[string]sim.VM) error {
	for ref, vm := range want {
		if now, there := have[ref]; !there {
			return fmt.Errorf("%s (%s) was deleted", vm.Path, ref)
		} else if !now.On {
			return fmt.Errorf("%s (%s) is off", vm.Path, ref)
		}
	}
	if len(have) != len(want) {
		return fmt.Errorf("%d VMs are there, want %d", len(have), len(want))
	}
	return nil
}

// takeOver kills each replica, one after another, so that every group gets another owner.
func takeOver(t *testing.T) {
	t.Helper()
	for _, r := range shared.Replicas {
		r.Kill()
		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		await.Until(t, r.Name+" to be ready again", func(ctx context.Context) (bool, error) { return r.Ready(ctx), nil })
	}
}
