//go:build unix && slow

package admission

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestOneCommandDestroysNoVMOfAMember deletes the CRD of a member with 20 groups. Admission rejects that. With
// admission disabled, only VMs whose removal a user confirms are destroyed. Then all confirmed groups are deleted, and
// the member works again.
func TestOneCommandDestroysNoVMOfAMember(t *testing.T) {
	stack.Story(t)
	const name, groups = "team-swept", 20
	cluster := joinMember(t, name)
	p := newPlace(t, name, "swept", nil)
	for i := range groups - 1 {
		if err := p.Create(t.Context(), p.group(fmt.Sprintf("web-%d", i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	protected := p.group("protected", 1, func(g *v1alpha1.VmGroup) { g.Spec.DeletionProtection = v1alpha1.DeletionProtectionEnabled })
	if err := p.Create(t.Context(), protected); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "all groups to run", func(ctx context.Context) (bool, error) {
		var list v1alpha1.VmGroupList
		err := p.List(ctx, &list, client.InNamespace(p.namespace))
		ready := 0
		for i := range list.Items {
			if list.Items[i].Status.ReadyReplicas == 1 {
				ready++
			}
		}
		return ready == groups, err
	})
	before := vmsOf(t, name)
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.VmGroupName}}
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
		t.Fatal(err)
	}

	refused(t, cluster.Delete(t.Context(), definition.DeepCopy()), "kubectl annotate crd "+crd.VmGroupName, string(definition.UID))
	refused(t, p.Delete(t.Context(), protected.DeepCopy()), "spec.deletionProtection is Enabled")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}
	refused(t, p.Delete(t.Context(), namespace), "kubectl annotate namespace "+p.namespace)
	sameVMs(t, name, before)

	// The operator restores the binding within half a minute, so it is removed until the CRD is deleted.
	await.Until(t, "the CRD to be deleted without the protection", func(ctx context.Context) (bool, error) {
		binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: objects.DeletionName}}
		err := cluster.Delete(ctx, definition.DeepCopy())
		if apierrors.IsForbidden(err) {
			return false, client.IgnoreNotFound(cluster.Delete(ctx, binding))
		}
		return err == nil, err
	})
	since := time.Now()
	condition := untilMember(t, name, v1alpha1.ConditionReady, v1alpha1.ReasonCRDTerminating)
	t.Logf("the hub says so after %s: %s", time.Since(since).Round(time.Second), condition.Message)
	for _, words := range []string{crd.VmGroupName, "kubectl annotate crd", string(definition.UID)} {
		if !strings.Contains(condition.Message, words) {
			t.Errorf("the MemberCluster does not say %q: %s", words, condition.Message)
		}
	}
	own := map[string]*v1alpha1.VmGroup{}
	await.Until(t, "all groups to be held", func(ctx context.Context) (bool, error) {
		var list v1alpha1.VmGroupList
		if err := p.List(ctx, &list, client.InNamespace(p.namespace)); err != nil {
			return false, err
		}
		held := 0
		for i := range list.Items {
			group := &list.Items[i]
			own[group.Name] = group
			if c := meta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Reason == v1alpha1.ReasonCRDTerminating {
				held++
			}
		}
		if len(list.Items) != groups {
			return false, fmt.Errorf("%d groups are left", len(list.Items))
		}
		return held == groups, nil
	})
	sameVMs(t, name, before)

	confirm(t, cluster, own["web-3"].DeepCopy(), own["web-3"].UID)
	confirm(t, cluster, own["web-4"].DeepCopy(), own["web-5"].UID)
	maps.DeleteFunc(before, func(path string, _ sim.VM) bool { return strings.Contains(path, "/web-3.") })
	goes(t, p, own["web-3"])
	sameVMs(t, name, before)

	// One deleted group keeps its VM. After the CRD is installed again, a new group adopts it.
	kept := own["web-6"]
	annotate(t, cluster, kept.DeepCopy(), v1alpha1.ReleaseAnnotation, kept.UID)
	goes(t, p, kept)
	sameVMs(t, name, before)

	confirm(t, cluster, definition.DeepCopy(), definition.UID)
	maps.DeleteFunc(before, func(path string, _ sim.VM) bool { return !strings.Contains(path, "/web-6.") })
	await.NoError(t, "all but one to go", func() error {
		if left := vmsOf(t, name); len(left) > len(before) {
			return fmt.Errorf("%d VMs are left", len(left))
		}
		return nil
	})
	sameVMs(t, name, before)
	await.NoError(t, "the CRD to be installed again", func() error {
		found := &apiextensionsv1.CustomResourceDefinition{}
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(definition), found); err != nil {
			return err
		}
		if found.UID == definition.UID {
			return errors.New("it is the old one")
		}
		return nil
	})
	untilMember(t, name, v1alpha1.ConditionReady, v1alpha1.ReasonEngaged)
	untilJoined(t, name)
	runs(t, p, "after", 1)

	takesOver(t, p, kept)
}

func goes(t *testing.T, p *place, group *v1alpha1.VmGroup) {
	t.Helper()
	await.NoError(t, group.Name+" to go", func() error {
		if err := p.Get(t.Context(), client.ObjectKeyFromObject(group), &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
}

// takesOver creates a group that adopts the VM that another one kept.
func takesOver(t *testing.T, p *place, kept *v1alpha1.VmGroup) {
	t.Helper()
	adopts := p.group(kept.Name, 1, func(g *v1alpha1.VmGroup) {
		g.Annotations = map[string]string{v1alpha1.AdoptAnnotation: string(kept.UID)}
	})
	if err := p.Create(t.Context(), adopts); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "the VM that was kept to be taken over", func() error {
		if err := p.Get(t.Context(), client.ObjectKeyFromObject(adopts), adopts); err != nil {
			return err
		}
		if vms := adopts.Status.VMs; len(vms) != 1 || vms[0].MoRef != kept.Status.VMs[0].MoRef || !stack.IsReady(adopts.Status.Conditions) {
			return fmt.Errorf("its VMs are %+v, was %+v; %+v", vms, kept.Status.VMs, adopts.Status.Conditions)
		}
		return nil
	})
}

func confirm(t *testing.T, cluster *stack.Cluster, object client.Object, uid types.UID) {
	t.Helper()
	annotate(t, cluster, object, v1alpha1.ConfirmDeletionAnnotation, uid)
}

func annotate(t *testing.T, cluster *stack.Cluster, object client.Object, annotation string, uid types.UID) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, annotation, uid)
	if err := cluster.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
}

// untilMember waits for a reason of a condition of a MemberCluster.
func untilMember(t *testing.T, name, condition, reason string) metav1.Condition {
	t.Helper()
	mc, found := &v1alpha1.MemberCluster{}, metav1.Condition{}
	await.Until(t, fmt.Sprintf("%s of %s to say %s", condition, name, reason), func(ctx context.Context) (bool, error) {
		err := world.Hub.Get(ctx, client.ObjectKey{Name: name}, mc)
		if c := meta.FindStatusCondition(mc.Status.Conditions, condition); c != nil {
			found = *c
		}
		return found.Reason == reason, err
	})
	return found
}
