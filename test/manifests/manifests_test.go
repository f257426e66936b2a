// Package manifests applies everything below config/ to a real API server.
package manifests

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/certmanager"
	"github.com/codeconnect/vmgroup-operator/test/harness/kustomize"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// patience is the timeout of all waits; a loaded machine is slow.
const patience = 2 * time.Minute

// order is the order of application; other kinds come in between.
var order = []string{"Namespace", "CustomResourceDefinition"}

// TestManifestsAreAccepted applies the hub, a member and all samples with strict field validation: a misspelled
// field, a broken CEL rule or a sample that its own schema rejects fails here.
func TestManifestsAreAccepted(t *testing.T) {
	cluster := localcluster.ForTest(t, "manifests")
	scheme := allkinds.Scheme()
	plain, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	strict := client.WithFieldValidation(plain, metav1.FieldValidationStrict)

	if err := certmanager.InstallCRDs(t.Context(), cluster.Config); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"config/default", "config/with-webhooks", "config/local-member", "config/member", "config/member/crd", "config/samples"} {
		t.Run(dir, func(t *testing.T) {
			objects := build(t, dir)
			if len(objects) == 0 {
				t.Fatal("no objects")
			}
			for _, object := range objects {
				apply(t, strict, object)
			}
		})
	}
	t.Run("pods meet the restricted security standard", func(t *testing.T) { checkPod(t, plain) })
	t.Run("a server of the last release can be edited", func(t *testing.T) { checkOldServer(t, plain) })
}

// build returns the objects of a kustomization in the order in which they can be applied.
func build(t *testing.T, dir string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := kustomize.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rank := func(object *unstructured.Unstructured) int {
		if i := slices.Index(order, object.GetKind()); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return objects
}

// apply creates an object. One that an earlier kustomization created, such as a CRD, is checked as an update.
func apply(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	name := object.GetKind() + " " + object.GetName()
	if object.GetKind() == "VmGroup" && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault) // as kubectl does
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := createOrUpdate(ctx, c, object)
		if err == nil {
			break
		}
		// A kind is served a moment after its CRD is established, and the API server writes the status of CRDs in
		// that time.
		if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			t.Fatalf("%s: %v", name, err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", name, patience, err)
		case <-ticker.C:
		}
	}
	if object.GetKind() == "CustomResourceDefinition" {
		waitEstablished(t, c, object.GetName())
	}
}

func createOrUpdate(ctx context.Context, c client.Client, object *unstructured.Unstructured) error {
	made := object.DeepCopy()
	err := c.Create(ctx, made)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing := object.DeepCopy()
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), existing); err != nil {
		return err
	}
	made = object.DeepCopy()
	made.SetResourceVersion(existing.GetResourceVersion())
	return c.Update(ctx, made)
}

func waitEstablished(t *testing.T, c client.Client, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := c.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
			t.Fatal(err)
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return
			}
			if condition.Type == apiextensionsv1.NonStructuralSchema &&
				condition.Status == apiextensionsv1.ConditionTrue {
				t.Fatalf("%s: %s", name, condition.Message)
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s was not established within %s: %+v", name, patience, definition.Status.Conditions)
		case <-ticker.C:
		}
	}
}

// checkPod creates the pod of the Deployment in its namespace, whose label enforces the standard. No kubelet runs it.
func checkPod(t *testing.T, c client.Client) {
	var template *corev1.PodTemplateSpec
	for _, object := range build(t, "config/default") {
		if object.GetKind() != "Deployment" {
			continue
		}
		deployment := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment); err != nil {
			t.Fatal(err)
		}
		template = &deployment.Spec.Template
	}
	if template == nil {
		t.Fatal("config/default has no Deployment")
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "manager", Namespace: "vmgroup-operator-system", Labels: template.Labels,
		},
		Spec: template.Spec,
	}
	if err := c.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	privileged := pod.DeepCopy()
	privileged.ObjectMeta = metav1.ObjectMeta{Name: "privileged", Namespace: pod.Namespace}
	privileged.Spec.Containers[0].SecurityContext = nil
	if err := c.Create(t.Context(), privileged); !apierrors.IsForbidden(err) {
		t.Errorf("a pod without its security context: %v, want Forbidden; the check above proves nothing", err)
	}
}
