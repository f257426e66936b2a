package member

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestACacheKnowsWhoChangedTheSpecOfAGroupLast(t *testing.T) {
	entry := func(manager, subresource, fields string, minutes int) metav1.ManagedFieldsEntry {
		at := metav1.NewTime(testNow.Add(time.Duration(minutes) * time.Minute))
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Operation: "Update", Time: &at, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	for name, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"nobody": {nil, ""},
		"the last of those who own part of spec": {[]metav1.ManagedFieldsEntry{
			entry("kubectl-create", "", `{"f:spec":{"f:cpu":{}}}`, 1), entry("kubectl", "scale", `{"f:spec":{"f:replicas":{}}}`, 3),
			entry("argocd", "", `{"f:spec":{"f:cpu":{}}}`, 2), entry("vmgroup-operator", "status", `{"f:status":{"f:vms":{}}}`, 9),
		}, "kubectl"},
		"nobody who wrote metadata only":  {[]metav1.ManagedFieldsEntry{entry("helm", "", `{"f:metadata":{"f:labels":{}}}`, 1)}, ""},
		"one without a time":              {[]metav1.ManagedFieldsEntry{{Manager: "helm", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}, "helm"},
		"one with a name that is made up": {[]metav1.ManagedFieldsEntry{entry(strings.Repeat("x", 1<<20), "", `{"f:spec":{}}`, 1)}, strings.Repeat("x", mostManager)},
	} {
		t.Run(name, func(t *testing.T) {
			group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.fields}}
			for range 2 { // an informer may hand it an object that it has been through
				got, err := keepWhatIsRead(group)
				if err != nil || got != any(group) {
					t.Fatal(got, err)
				}
				manager := ""
				if len(group.ManagedFields) > 0 {
					manager = group.ManagedFields[0].Manager
				}
				if manager != test.want || len(group.ManagedFields) > 1 || slices.ContainsFunc(group.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return m.FieldsV1 != nil }) {
					t.Fatalf("kept is %+v, want %q and no fields", group.ManagedFields, test.want)
				}
			}
		})
	}
	namespace := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{entry("kubectl", "", `{"f:spec":{}}`, 1)}}}
	if _, err := keepWhatIsRead(namespace); err != nil || namespace.ManagedFields != nil {
		t.Errorf("of other objects is kept %+v, %v", namespace.ManagedFields, err)
	}
}

// TestACacheKeepsOurAnnotationsAlone, and does not write to what others may be reading.
func TestACacheKeepsOurAnnotationsAlone(t *testing.T) {
	before := map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "vm.codeconnect.vmworld.com.evil.example/paused": "true", v1alpha1.PausedAnnotation: "true"}
	for _, object := range []metav1.Object{&v1alpha1.VmGroup{}, namespaceMetadata()} {
		object.SetAnnotations(before)
		if _, err := keepWhatIsRead(object); err != nil {
			t.Fatal(err)
		}
		if kept := object.GetAnnotations(); len(kept) != 1 || kept[v1alpha1.PausedAnnotation] != "true" || len(before) != 3 {
			t.Errorf("of %v is kept %v", before, kept)
		}
	}
}
