//go:build unix && slow

package massdeletion

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestFortyOfAHundredAndFiftyGroupsThatArePrunedAtOnceKeepTheirVMs simulates a tool that prunes objects deleted
// from Git.
func TestFortyOfAHundredAndFiftyGroupsThatArePrunedAtOnceKeepTheirVMs(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	others := strangers(t)
	defer others.untouched()
	p := newPlace(t, pruned, "shop")
	before := p.fill(150, 1)
	gone := names(0, 40)
	p.delete(gone)
	shared.Replicas[0].Kill() // while its groups wait
	if err := shared.Replicas[0].Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	held := p.untilHeld(gone, both)
	p.same(before)
	takeOver(t)
	untilTold(t, pruned, 40, 40)
	p.same(before)

	one := names(0, 10)
	for _, name := range one {
		annotate(t, p.cluster, p.object(name), v1alpha1.ConfirmDeletionAnnotation, string(held[name].UID))
	}
	annotate(t, p.cluster, p.object("web-10"), v1alpha1.ConfirmDeletionAnnotation, string(held["web-11"].UID))
	p.untilGone(one)
	left := without(before, one)
	p.untilSame(left)

	// The others are removed, or stay: in new groups of the same names.
	kept := names(10, 20)
	for _, name := range kept {
		annotate(t, p.cluster, p.object(name), v1alpha1.ReleaseAnnotation, string(held[name].UID))
	}
	p.untilGone(kept)
	p.same(left)
	takeOver(t)
	for _, name := range kept {
		p.create(name, 1, v1alpha1.AdoptAnnotation, string(held[name].UID))
	}
	p.untilAll(kept, "to have taken the VMs over", func(g *v1alpha1.VmGroup) bool { return runs(g, 1) })
	p.same(left)

	allow(t, pruned)
	p.untilGone(names(20, 40))
	p.untilSame(without(left, names(20, 40)))
	untilTold(t, pruned, 0, 0)
}

// TestEverythingThatIsScaledToZeroKeepsItsVMs runs `kubectl scale vg --all --replicas=0`, and then deletes a namespace.
func TestEverythingThatIsScaledToZeroKeepsItsVMs(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	p := newPlace(t, emptied, "scaled")
	before := p.fill(12, 2)
	all := names(0, 12)
	p.scale(all, 0)
	held := p.untilHeld(all, func(g *v1alpha1.VmGroup) []string {
		return []string{goOn(g), fmt.Sprintf("kubectl scale vmgroup %s -n %s --replicas=2", g.Name, g.Namespace)}
	})
	takeOver(t)
	p.same(before)

	back, on := all[:6], all[6:]
	p.scale(back, 2)
	p.untilAll(back, "to run as before", func(g *v1alpha1.VmGroup) bool { return runs(g, 2) })
	p.same(before)
	for _, name := range on {
		annotate(t, p.cluster, p.object(name), v1alpha1.ConfirmDeletionAnnotation, string(held[name].UID))
	}
	p.untilAll(on, "to have no VM", func(g *v1alpha1.VmGroup) bool { return runs(g, 0) })
	p.untilSame(without(before, on))

	namespaceDeleted(t)
}

// namespaceDeleted deletes a namespace with 20 groups. No namespace controller runs here, so the test deletes its
// objects.
func namespaceDeleted(t *testing.T) {
	t.Helper()
	p := newPlace(t, emptied, "deleted")
	before := p.fill(20, 1)
	namespace := &corev1.Namespace{}
	if err := p.cluster.Get(t.Context(), client.ObjectKey{Name: p.namespace}, namespace); err != nil {
		t.Fatal(err)
	}
	if err := p.cluster.Delete(t.Context(), namespace.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	p.delete(names(0, 20))
	p.untilHeld(names(0, 20), func(g *v1alpha1.VmGroup) []string {
		return append(both(g), fmt.Sprintf("kubectl annotate namespace %s %s=%s", p.namespace, v1alpha1.ConfirmDeletionAnnotation, namespace.UID))
	})
	takeOver(t)
	p.same(before)
	annotate(t, p.cluster, namespace.DeepCopy(), v1alpha1.ConfirmDeletionAnnotation, string(namespace.UID))
	p.untilGone(names(0, 20))
	p.untilSame(nil)
}

// allow permits all removals of a member for half an hour.
func allow(t *testing.T, member string) {
	t.Helper()
	until := time.Now().Add(30 * time.Minute).UTC().Format(time.RFC3339)
	annotate(t, shared.Hub, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: member}}, v1alpha1.AllowMassDeletionAnnotation, until)
}

// untilTold waits until the hub reports how many VMs of how many groups of a member are held, or with zero that
// none is.
func untilTold(t *testing.T, member string, groups, vms int32) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{}
	await.Until(t, fmt.Sprintf("the hub to say that %d VMs of %s are held", vms, member), func(ctx context.Context) (bool, error) {
		err := shared.Hub.Get(ctx, client.ObjectKey{Name: member}, mc)
		c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionMassDeletion)
		told := c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1alpha1.ReasonRemovalsHeld
		return mc.Status.HeldGroups == groups && mc.Status.HeldVMs == vms && told == (groups > 0), err
	}, func() string { return fmt.Sprintf("%+v", mc.Status) })
}
