//go:build unix && slow

package massdeletion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestVMsThatWereHeldForTheirCRDStayWhenTheOperatorInstallsItAgain: the CRD is deleted in spite of its guard and hangs
// in Terminating, and a user removes its finalizer while all replicas are dead. The groups come back from storage,
// deleted, and each waits for a decision. The last one still exists when its member leaves and rejoins.
func TestVMsThatWereHeldForTheirCRDStayWhenTheOperatorInstallsItAgain(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	p := newPlace(t, swept, "shop")
	before, all := p.fill(3, 2), names(0, 3)
	old := deleteCRD(t, p.cluster, crd.VmGroupName)
	p.untilSwept(all)
	for _, r := range shared.Replicas {
		r.Kill()
	}
	unfinalize(t, p.cluster, old)
	for _, r := range shared.Replicas {
		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	untilAnother(t, p.cluster, old)
	held := p.untilSwept(all)
	p.othersGo()
	p.same(before)
	untilSwept(t, swept, "3 VmGroups with 6 VMs", "kubectl annotate membercluster "+swept)

	confirmed, released, stays := held["web-0"], held["web-1"], "web-2"
	annotate(t, p.cluster, p.object(confirmed.Name), v1alpha1.ConfirmDeletionAnnotation, string(confirmed.UID))
	annotate(t, p.cluster, p.object(released.Name), v1alpha1.ReleaseAnnotation, string(released.UID))
	p.untilGone([]string{confirmed.Name, released.Name})
	left := without(before, []string{confirmed.Name})
	p.untilSame(left)
	p.create(released.Name, 2, v1alpha1.AdoptAnnotation, string(released.UID))
	p.untilAll([]string{released.Name}, "to have taken the VMs over", func(g *v1alpha1.VmGroup) bool { return runs(g, 2) })
	p.untilSwept([]string{stays})
	untilSwept(t, swept, "1 VmGroups with 2 VMs")
	p.same(left)

	leaveAndJoin(t, p)
	p.othersGo()
	p.same(left)
	untilSwept(t, swept)
}

// TestVMsStayWhenAnotherToolInstallsTheirCRDWhileNoReplicaRuns: no replica saw the deletion of the CRD, so no status
// has the reason. The age of the new CRD shows it.
func TestVMsStayWhenAnotherToolInstallsTheirCRDWhileNoReplicaRuns(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	p := newPlace(t, reapplied, "shop")
	before, all := p.fill(2, 2), names(0, 2)
	for _, r := range shared.Replicas {
		r.Kill()
	}
	old := deleteCRD(t, p.cluster, crd.VmGroupName)
	p.untilAll(all, "to be deleted", func(g *v1alpha1.VmGroup) bool { return g.DeletionTimestamp != nil })
	unfinalize(t, p.cluster, old)
	if err := p.cluster.Create(t.Context(), crd.VmGroupCRD()); err != nil {
		t.Fatal(err)
	}
	untilAnother(t, p.cluster, old)
	for _, r := range shared.Replicas {
		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.untilSwept(all)
	p.othersGo()
	p.same(before)
	untilSwept(t, reapplied, "2 VmGroups with 4 VMs")
	allow(t, reapplied)
	p.untilGone(all)
	p.untilSame(nil)
	untilSwept(t, reapplied)
}

// TestTheCRDsOfTheHubDestroyNothing: the hub is the member, and the CRD of VmGroups is deleted there, then all others,
// with the objects that block it. The MemberCluster leaves, and all VMs stay.
func TestTheCRDsOfTheHubDestroyNothing(t *testing.T) {
	stack.Story(t)
	shared.Enter(t)
	const name = "hubswept"
	hub, err := shared.StartHub(t.Context(), name, "--mass-deletion-age=0s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Stop(); err != nil {
			t.Error(err)
		}
	})
	join := func() {
		t.Helper()
		await.NoError(t, "the hub to be a member", func() error {
			if err := hub.AddVCenter(t.Context(), name); client.IgnoreAlreadyExists(err) != nil {
				return err
			}
			mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LocalMember}}
			if err := hub.Hub.Create(t.Context(), mc); client.IgnoreAlreadyExists(err) != nil {
				return err
			}
			if err := hub.Hub.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil || mc.DeletionTimestamp != nil || !stack.IsReady(mc.Status.Conditions) {
				return errors.Join(fmt.Errorf("it is not ready: %+v", mc.Status.Conditions), err)
			}
			return nil
		})
	}
	join()
	shared.Members[v1alpha1.LocalMember] = hub.Hub
	p := newPlace(t, v1alpha1.LocalMember, "shop")
	p.root = "/DC0/vm/" + name
	before, all := p.fill(2, 2), names(0, 2)

	old := deleteCRD(t, hub.Hub, crd.VmGroupName)
	p.untilSwept(all)
	unfinalize(t, hub.Hub, old)
	untilAnother(t, hub.Hub, old)
	p.untilSwept(all)
	p.othersGo()
	p.same(before)

	// Those groups are deleted when their MemberCluster leaves, and their VMs stay. One more lives on, and one is
	// deleted in the end.
	p.another("lives")
	before = p.vms()
	p.another("deleted")
	var kinds [3]*apiextensionsv1.CustomResourceDefinition
	for i, kind := range []string{"memberclusters", "vcenters", "vmgrouppolicies"} {
		kinds[i] = deleteCRD(t, hub.Hub, kind+"."+v1alpha1.GroupVersion.Group)
	}
	for _, kind := range kinds {
		unfinalize(t, hub.Hub, kind)
	}
	hub.Manager.Kill()
	await.NoError(t, "the CRDs to be there again", func() error { return hub.ApplyCRDs(t.Context()) })
	if err := hub.RestartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	join()
	p.delete([]string{"deleted"})
	p.untilGone([]string{"deleted"})
	p.untilAll([]string{"lives"}, "to run as before", func(g *v1alpha1.VmGroup) bool { return runs(g, 1) })
	p.same(before)
}

// deleteCRD deletes a CRD in spite of its guard. The operator restores the binding within half a minute, so it is
// removed repeatedly until the CRD is deleted.
func deleteCRD(t *testing.T, cluster *stack.Cluster, name string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	found := &apiextensionsv1.CustomResourceDefinition{}
	if err := cluster.Get(t.Context(), client.ObjectKey{Name: name}, found); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the CRD "+name+" to be deleted past its guard", func(ctx context.Context) (bool, error) {
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: objects.DeletionName}}
		err := cluster.Delete(ctx, found.DeepCopy())
		if apierrors.IsForbidden(err) {
			return false, client.IgnoreNotFound(cluster.Delete(ctx, binding))
		}
		return err == nil, err
	})
	return found
}

// unfinalize removes the finalizers of an object that hangs in Terminating, as users do.
func unfinalize(t *testing.T, cluster *stack.Cluster, definition *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	err := cluster.Patch(t.Context(), definition.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`)))
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// untilAnother waits until a CRD other than the old one is served.
func untilAnother(t *testing.T, cluster *stack.Cluster, old *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	await.NoError(t, "the CRD to be installed again", func() error {
		found := &apiextensionsv1.CustomResourceDefinition{}
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(old), found); err != nil {
			return err
		}
		if found.UID == old.UID {
			return errors.New("it is the old one")
		}
		return cluster.List(t.Context(), &v1alpha1.VmGroupList{})
	})
}

// untilSwept waits until groups are held because their CRD was deleted, and name the ways to decide.
func (p *place) untilSwept(of []string) map[string]*v1alpha1.VmGroup {
	p.t.Helper()
	return p.untilAll(of, "to be held for their CRD", func(g *v1alpha1.VmGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionStalled)
		return c != nil && c.Reason == v1alpha1.ReasonCRDTerminating && !slices.ContainsFunc([]string{v1alpha1.ReleaseAnnotation, v1alpha1.ConfirmDeletionAnnotation}, func(way string) bool {
			return !strings.Contains(c.Message, fmt.Sprintf("kubectl annotate vmgroup %s -n %s --overwrite %s=%s", g.Name, g.Namespace, way, g.UID))
		})
	})
}

// untilSwept waits until the hub reports the groups of a member that are held for the CRD; without words, none are.
func untilSwept(t *testing.T, member string, words ...string) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{}
	await.Until(t, fmt.Sprintf("the hub to say of %s: %q", member, words), func(ctx context.Context) (bool, error) {
		err := shared.Hub.Get(ctx, client.ObjectKey{Name: member}, mc)
		c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCRDDeletion)
		if c == nil || len(words) == 0 {
			return c == nil && len(words) == 0, err
		}
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(c.Message, word) }), err
	}, func() string { return fmt.Sprintf("%+v", mc.Status) })
}

// othersGo creates and deletes two groups in turn, which takes ten seconds for each. A check of the CRD is cached for
// ten seconds, and a deletion waits for ten. So a group that was deleted before, and is not held, has lost its VMs by
// then.
func (p *place) othersGo() {
	p.t.Helper()
	for _, name := range []string{"one", "another"} {
		p.another(name)
		p.delete([]string{name})
		p.untilGone([]string{name})
	}
}

// another creates a group with one VM. It repeats that until the CRD is served.
func (p *place) another(name string) {
	p.t.Helper()
	await.NoError(p.t, name+" to be made", func() error {
		one := int32(1)
		g := p.object(name)
		g.Spec = v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &one}
		return client.IgnoreAlreadyExists(p.cluster.Create(p.t.Context(), g))
	})
	p.untilAll([]string{name}, "to run", func(g *v1alpha1.VmGroup) bool { return runs(g, 1) })
}

// leaveAndJoin deletes the MemberCluster and recreates it.
func leaveAndJoin(t *testing.T, p *place) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: p.member}}
	if err := shared.Hub.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "the member to have left", func() error {
		if err := shared.Hub.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %+v (%w)", mc.Status.Conditions, err)
		}
		return nil
	})
	kubeconfig, err := p.cluster.MemberKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := shared.Join(t.Context(), p.member, kubeconfig); err != nil {
		t.Fatal(err)
	}
	await.Until(t, p.member+" to be served again", func(ctx context.Context) (bool, error) {
		err := shared.Hub.Get(ctx, client.ObjectKeyFromObject(mc), mc)
		return err == nil && stack.IsReady(mc.Status.Conditions), err
	}, func() string { return fmt.Sprintf("%+v", mc.Status) })
}
