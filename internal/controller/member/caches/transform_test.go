package caches

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestACacheKnowsWhoChangedTheSpecOfAGroupLastAndWhoScaledIt(t *testing.T) {
	const cpu, replicas, both = `{"f:spec":{"f:cpu":{}}}`, `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:cpu":{},"f:replicas":{}}}`
	entry := func(manager, operation, fields string, minutes int) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(time.Unix(1_772_366_400, 0).Add(time.Duration(minutes) * time.Minute))
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	// Kubernetes 1.36 writes this at any time and any number of times, if the field had an owner before.
	scaledBy := func(manager string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: "scale", Operation: "Update", FieldsV1: metav1.NewFieldsV1(replicas)}
	}
	status := entry("vmgroup-operator", "Update", `{"f:status":{"f:replicas":{},"f:vms":{}}}`, 9)
	status.Subresource = "status"
	long := strings.Repeat("x", 1<<20)
	for name, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   []string
	}{
		"no manager": {nil, nil},
		"the last of those who own part of spec": {[]metav1.ManagedFieldsEntry{
			entry("kubectl-create", "Update", cpu, 1), entry("kubectl", "Update", cpu, 3), entry("argocd", "Update", cpu, 2), status,
		}, []string{"kubectl", ""}},
		"an autoscaler beside who applies": {[]metav1.ManagedFieldsEntry{
			entry("argocd", "Apply", cpu, 1), scaledBy("kube-controller-manager"), status,
		}, []string{"argocd", "kube-controller-manager"}},
		"an autoscaler before who edits": {[]metav1.ManagedFieldsEntry{
			scaledBy("kube-controller-manager"), entry("kubectl-edit", "Update", cpu, 1),
		}, []string{"kubectl-edit", "kube-controller-manager"}},
		"who applies what the autoscaler wants": {[]metav1.ManagedFieldsEntry{
			entry("argocd", "Apply", both, 1), scaledBy("kube-controller-manager"),
		}, []string{"argocd", "kube-controller-manager"}},
		"who set all": {[]metav1.ManagedFieldsEntry{entry("kubectl", "Update", both, 1), status}, []string{"kubectl", "kubectl"}},
		"who scaled before others changed more": {[]metav1.ManagedFieldsEntry{
			entry("kubectl", "Update", replicas, 1), entry("argocd", "Update", cpu, 2),
		}, []string{"argocd", "kubectl"}},
		"who set fields of that name elsewhere": {[]metav1.ManagedFieldsEntry{
			entry("kubectl", "Update", `{"f:spec":{"f:x":{"f:replicas":{}}},"f:replicas":{}}`, 1), entry("argocd", "Update", cpu, 2),
		}, []string{"argocd", ""}},
		"not one who wrote metadata only": {[]metav1.ManagedFieldsEntry{entry("helm", "Update", `{"f:metadata":{"f:labels":{}}}`, 1)}, nil},
		"one without a time":              {[]metav1.ManagedFieldsEntry{{Manager: "helm", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}, []string{"helm", ""}},
		"one with a name that is made up": {[]metav1.ManagedFieldsEntry{entry(long, "Update", cpu, 1), scaledBy(long)}, []string{long[:mostManager], long[:mostManager]}},
		"one whose fields are no JSON":    {[]metav1.ManagedFieldsEntry{entry("helm", "Update", `{"f:spec":{"f:replicas":`, 1)}, []string{"helm", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.fields}}
			for range 2 { // an informer can pass it an object twice
				Strip(group)
				kept := make([]string, 0, 2)
				for _, m := range group.ManagedFields {
					kept = append(kept, m.Manager)
				}
				if !slices.Equal(kept, test.want) || slices.ContainsFunc(group.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.FieldsV1 != nil }) {
					t.Fatalf("kept is %+v, want %q and no fields", group.ManagedFields, test.want)
				}
			}
		})
	}
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("kubectl", "Update", `{"f:spec":{}}`, 1)}}}
	if Strip(namespace); namespace.ManagedFields != nil {
		t.Errorf("of other objects is kept %+v", namespace.ManagedFields)
	}
}

// TestACacheKeepsOurAnnotationsAlone, and does not write to an object that others can be reading.
func TestACacheKeepsOurAnnotationsAlone(t *testing.T) {
	before := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "vm.codeconnect.vmworld.com.evil.example/paused": "true", v1alpha1.PausedAnnotation: "true"}
	for _, object := range []metav1.Object{&v1alpha1.VmGroup{}, NamespaceMetadata()} {
		object.SetAnnotations(before)
		Strip(object)
		if kept := object.GetAnnotations(); len(kept) != 1 || kept[v1alpha1.PausedAnnotation] != "true" || len(before) != 3 {
			t.Errorf("of %v is kept %v", before, kept)
		}
	}
}
