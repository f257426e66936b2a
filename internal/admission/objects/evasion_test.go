//go:build unix && !fast

package objects

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// TestNoShapeOfARequestPassesThePolicies sends forbidden requests in every way that an API server offers. Objects that are
// being deleted are exempt, so a request can pretend to be about one of them.
func TestNoShapeOfARequestPassesThePolicies(t *testing.T) {
	m := newMember(t)
	group := m.keep(newGroup(metav1.NamespaceDefault, "small", 2, 2, "linux-12", 2))
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	const tooMuch = `exceeds the maximum 4 of VmGroupPolicy "small"`
	const tooMany = `spec.replicas: Invalid value: 9: exceeds the maximum 5 of VmGroupPolicy "small"`
	deleted := metav1.NewTime(time.Now().Add(-time.Minute)).UTC().Format(time.RFC3339)
	spec := func(cpu any) map[string]any {
		return map[string]any{"cpu": cpu, "memory": 2, "template": "linux-12", "replicas": 2}
	}
	pretending := func(object *unstructured.Unstructured) *unstructured.Unstructured {
		metadata := object.Object["metadata"].(map[string]any)
		metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = deleted, int64(0)
		return object
	}
	send := func(kind types.PatchType, body any, options ...client.PatchOption) error {
		content, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		target := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: group.Name}}
		return m.team.Patch(t.Context(), target, client.RawPatch(kind, content), options...)
	}
	current := func() *unstructured.Unstructured {
		object := raw(group.Name, nil)
		if err := m.team.Get(t.Context(), client.ObjectKeyFromObject(group), object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	apply := func(name string, pretend bool) error {
		object := raw(name, spec(16))
		if pretend {
			pretending(object)
		}
		return m.team.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("team"), client.ForceOwnership)
	}
	scale := func(pretend bool) error {
		body := &autoscalingv1.Scale{}
		if err := m.team.SubResource("scale").Get(t.Context(), group, body); err != nil {
			t.Fatal(err)
		}
		body.Spec.Replicas = 9
		if pretend {
			body.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		}
		return m.team.SubResource("scale").Update(t.Context(), group, client.WithSubResourceBody(body))
	}
	for _, c := range []struct {
		story string
		do    func() error
		want  string
	}{
		{"a creation", func() error { return m.team.Create(t.Context(), raw("x", spec(16))) }, tooMuch},
		{"one that pretends to be deleted", func() error { return m.team.Create(t.Context(), pretending(raw("x", spec(16)))) }, tooMuch},
		{"one with a generated name", func() error {
			object := raw("", spec(16))
			object.SetGenerateName("x-")
			return m.team.Create(t.Context(), object)
		}, tooMuch},
		{"one with a number like 16.0", func() error { return m.team.Create(t.Context(), raw("x", spec(json.Number("16.0")))) }, tooMuch},
		{"a dry run", func() error { return m.team.Create(t.Context(), raw("x", spec(16)), client.DryRunAll) }, tooMuch},
		{"a server-side apply of a new group", func() error { return apply("x", false) }, tooMuch},
		// An API server that creates by an apply stores the time of the deletion, so that such a group gets no VM.
		{"one that pretends", func() error { return apply("x", true) }, ""},
		{"a server-side apply", func() error { return apply(group.Name, false) }, tooMuch},
		{"one that pretends to an existing group", func() error { return apply(group.Name, true) }, ""},
		{"an update that pretends", func() error {
			object := pretending(current())
			object.Object["spec"].(map[string]any)["cpu"] = int64(16)
			return m.team.Update(t.Context(), object)
		}, ""},
		{"a merge patch", func() error { return send(types.MergePatchType, map[string]any{"spec": spec(16)}) }, tooMuch},
		{"one that pretends to", func() error {
			return send(types.MergePatchType, map[string]any{"metadata": map[string]any{"deletionTimestamp": deleted}, "spec": spec(16)})
		}, ""},
		{"a JSON patch", func() error {
			return send(types.JSONPatchType, []any{map[string]any{"op": "replace", "path": "/spec/cpu", "value": 16}})
		}, tooMuch},
		{"a JSON patch of everything", func() error {
			return send(types.JSONPatchType, []any{map[string]any{"op": "replace", "path": "/spec", "value": spec(16)}})
		}, tooMuch},
		{"scaling", func() error { return scale(false) }, tooMany},
		{"scaling that pretends", func() error { return scale(true) }, tooMany},
		{"a merge patch of the scale", func() error {
			return m.team.SubResource("scale").Patch(t.Context(), group.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":9}}`)),
				client.WithSubResourceBody(&autoscalingv1.Scale{}))
		}, tooMany},
	} {
		// Whatever the answer, no part of it must exist afterwards.
		if err := c.do(); c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.story, err, c.want)
		}
		after := &v1alpha1.VmGroup{}
		if err := m.team.Get(t.Context(), client.ObjectKeyFromObject(group), after); err != nil || after.Spec.CPU > 4 || *after.Spec.Replicas > 5 {
			t.Fatalf("%s: the group is %+v, %v", c.story, after.Spec, err)
		}
		var list v1alpha1.VmGroupList
		if err := m.team.List(t.Context(), &list, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			created := &list.Items[i]
			if !strings.HasPrefix(created.Name, "x") {
				continue
			}
			if created.DeletionTimestamp.IsZero() {
				t.Errorf("%s: %s was created with cpu %d", c.story, created.Name, created.Spec.CPU)
			}
			if err := m.team.Delete(context.Background(), created); err != nil {
				t.Errorf("%s: %v", c.story, err)
			}
		}
	}

	// The subresource status does not include spec.
	object := current()
	object.Object["spec"].(map[string]any)["cpu"] = int64(16)
	if err := m.team.Status().Update(t.Context(), object); err != nil {
		t.Error(err)
	}
	if after := current(); after.Object["spec"].(map[string]any)["cpu"] != int64(2) {
		t.Errorf("a write of status changed the spec: %v", after.Object["spec"])
	}
}
