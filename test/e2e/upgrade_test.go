//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// rolledOut rolls out a change of the release under load in both members, without any visible effect.
func rolledOut(t *testing.T, image string, change func() error) {
	t.Helper()
	people := startCrowd(t)
	boots := make([]string, 0, 3)
	for boot := range processes(t) {
		boots = append(boots, boot)
	}
	began := time.Now()
	must(t, change())
	took := time.Since(began)
	// Helm's own wait can end while one Pod of the earlier version still terminates.
	untilRolledOut(t, "vmgroup-operator")
	untilThreeReady(t)
	for _, pod := range pods(t) {
		if got := pod.Spec.Containers[0].Image; got != image {
			t.Errorf("Pod %s runs %s, want %s", pod.Name, got, image)
		}
	}
	people.enough()
	people.stop()
	t.Logf("rolled out in %s", round(took))

	handedOver(t, "the release was rolled out", began, boots...)
	untilFulfilled(t)
	oneAtATime(t)
}

func upgradedUnderLoad(t *testing.T) {
	rolledOut(t, world.next.image, func() error {
		_, err := world.helm.upgrade(t.Context(), world.next.chart, world.next.values)
		return err
	})
	readMetrics(t)
	for _, cluster := range append([]*stack.Cluster{world.hub.cluster}, world.members...) {
		await.Until(t, cluster.Name+" to have the next version of the CRD", func(ctx context.Context) (bool, error) {
			return hasField(ctx, cluster)
		})
	}
}

// rolledBackWithoutLosingAField: the earlier version does not know a field that is now in use.
func rolledBackWithoutLosingAField(t *testing.T) {
	onHub := newGroup("on-the-hub", 1)
	must(t, client.IgnoreAlreadyExists(world.hub.Create(t.Context(), onHub)))
	clusters := append([]*stack.Cluster{world.hub.cluster}, world.members...)
	for _, cluster := range clusters {
		// The API server can serve the former CRD for a moment longer than it exists, and then drops the field.
		await.Until(t, cluster.Name+" to take the field", func(ctx context.Context) (bool, error) {
			group := rawGroup(firstGroup(cluster))
			err := cluster.Patch(ctx, group, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"note":"keep me"}}`)))
			note, _, _ := unstructured.NestedString(group.Object, "spec", newField)
			return note == "keep me", err
		})
	}
	rolledOut(t, world.this.image, func() error {
		_, err := world.helm.run(t.Context(), "rollback", release, "--wait", "--timeout="+helmPatience)
		return err
	})
	must(t, scaleAll(t.Context())) // makes the earlier version write to every group
	untilFulfilled(t)
	for _, cluster := range clusters {
		if there, err := hasField(t.Context(), cluster); err != nil || !there {
			t.Errorf("%s: the CRD was downgraded (%v)", cluster.Name, err)
		}
		group := rawGroup(firstGroup(cluster))
		must(t, cluster.Get(t.Context(), ref("default", firstGroup(cluster)), group))
		if note, _, _ := unstructured.NestedString(group.Object, "spec", newField); note != "keep me" {
			t.Errorf("%s: the field's value is %q, and was \"keep me\"", cluster.Name, note)
		}
	}
	must(t, world.hub.Delete(t.Context(), onHub))
}

// rawGroup is one with fields that this version does not know.
func rawGroup(name string) *unstructured.Unstructured {
	g := &unstructured.Unstructured{}
	g.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	g.SetNamespace("default")
	g.SetName(name)
	return g
}

func firstGroup(cluster *stack.Cluster) string {
	if cluster == world.hub.cluster {
		return "on-the-hub"
	}
	return groupName(0)
}

func hasField(ctx context.Context, cluster *stack.Cluster) (bool, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := cluster.Get(ctx, client.ObjectKey{Name: crd.VmGroupName}, definition); err != nil {
		return false, err
	}
	_, there := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties[newField]
	return there, nil
}

// untilRolledOut waits for a Deployment that was not changed by Helm.
func untilRolledOut(t *testing.T, name string) {
	t.Helper()
	await.Until(t, "Deployment "+name+" to be rolled out", func(ctx context.Context) (bool, error) {
		d := &appsv1.Deployment{}
		err := world.hub.Get(ctx, ref(namespace, name), d)
		return err == nil && d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
			d.Status.Replicas == *d.Spec.Replicas && d.Status.ReadyReplicas == *d.Spec.Replicas, err
	})
}
