//go:build unix && !fast

package objects

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// becomesHub applies the CRDs of a hub, and config/guard, which the chart and config/default include, until the test
// ends.
func (m *member) becomesHub() {
	m.t.Helper()
	for _, definition := range crd.Hub() {
		if err := m.operator.Create(m.t.Context(), definition); err != nil && !apierrors.IsAlreadyExists(err) {
			m.t.Fatal(err)
		}
	}
	for _, file := range []string{"policy.yaml", "binding.yaml"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "guard", file))
		if err != nil {
			m.t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(content, &object.Object); err != nil {
			m.t.Fatal(err)
		}
		m.apply([]*unstructured.Unstructured{object})
		m.t.Cleanup(func() { _ = m.operator.Delete(context.Background(), object) })
	}
}

// hubIsGuarded is the table of config/guard.
func hubIsGuarded(t *testing.T, m *member) {
	used := map[string]client.Object{}
	for kind, object := range map[string]client.Object{
		"membercluster": &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "used"}, Spec: v1alpha1.MemberClusterSpec{
			KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "s"}}},
		"vcenter": &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "used"}, Spec: v1alpha1.VCenterSpec{
			Server: "https://vc.example.com", CredentialsSecretRef: v1alpha1.LocalObjectReference{Name: "s"}}},
	} {
		for _, name := range []string{"used", "unused"} {
			each, _ := object.DeepCopyObject().(client.Object)
			each.SetName(name)
			await.NoError(t, kind+" "+name, func() error { return client.IgnoreAlreadyExists(m.team.Create(t.Context(), each)) })
			t.Cleanup(func() {
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ConfirmDeletionAnnotation, each.GetUID())
				_ = m.team.Patch(context.Background(), each, client.RawPatch(types.MergePatchType, patch))
				_ = m.team.Delete(context.Background(), each)
			})
			used[kind+"/"+name] = each
		}
	}
	for name, status := range map[string]string{"membercluster/used": `{"status":{"groups":3}}`, "vcenter/used": `{"status":{"vms":7}}`, "vcenter/unused": `{"status":{"vms":0}}`} {
		copied, _ := used[name].DeepCopyObject().(client.Object)
		if err := m.operator.Status().Patch(t.Context(), copied, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(object client.Object) func() error {
		return func() error {
			copied, _ := object.DeepCopyObject().(client.Object)
			return m.team.Delete(t.Context(), copied, client.DryRunAll)
		}
	}
	for kind, says := range map[string]string{"membercluster": "the member has 3 VmGroups", "vcenter": "7 VMs of VmGroups"} {
		object, unused := used[kind+"/used"], used[kind+"/unused"]
		command := fmt.Sprintf("kubectl annotate %s used --overwrite %s=%s", kind, v1alpha1.ConfirmDeletionAnnotation, object.GetUID())
		m.untilDenied(kind, remove(object), says, command)
		if err := remove(unused)(); err != nil {
			t.Errorf("%s that is not in use: %v", kind, err)
		}
		m.confirm(object, unused.GetUID())
		m.denied(kind+" with another's UID", remove(object)(), command)
		m.confirm(object, object.GetUID())
		if err := remove(object)(); err != nil {
			t.Errorf("%s that is confirmed: %v", kind, err)
		}
	}
	for _, resource := range []string{"memberclusters", "vcenters", "vmgrouppolicies"} {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := m.team.Get(t.Context(), client.ObjectKey{Name: resource + "." + v1alpha1.GroupVersion.Group}, definition); err != nil {
			t.Fatal(err)
		}
		m.denied(resource, remove(definition)(), "kubectl annotate crd "+definition.Name, string(definition.UID))
		m.confirm(definition, definition.UID)
		if err := remove(definition)(); err != nil {
			t.Errorf("the CRD of %s, which is confirmed: %v", resource, err)
		}
		m.confirm(definition, "")
	}
}
