package webhook

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/edits"
)

type admittedEdits []edits.Request

// Admitted implements Edits.
func (a *admittedEdits) Admitted(q edits.Request) { *a = append(*a, q) }

func TestOnlyAllowedChangesThatAreStoredAreHandedOver(t *testing.T) {
	stored := aGroup(func(g *v1alpha1.VmGroup) { g.Generation, g.ResourceVersion = 4, "17" })
	w := knowledgeWith(policyNamed("default", defaultPolicy()))
	w.groups = map[string]*v1alpha1.VmGroup{"apps/vg": stored}
	var admitted admittedEdits
	s := serve(t, w, func(o *Options) { o.Edits = &admitted })
	changed := func(change func(*v1alpha1.VmGroup)) *v1alpha1.VmGroup {
		g := stored.DeepCopy()
		g.Generation++
		change(g)
		return g
	}
	scaled := func(to int32) *admissionv1.AdmissionRequest {
		r := scaleRequest(t, 3, to)
		r.OldObject = rawOf(t, map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": 3},
			"metadata": map[string]any{"name": "vg", "namespace": "apps", "uid": stored.UID, "resourceVersion": "17"},
		})
		return r
	}
	more := func(g *v1alpha1.VmGroup) { g.Spec.CPU = 3 }
	for _, c := range []struct {
		story   string
		request *admissionv1.AdmissionRequest
		allowed bool
		want    *v1alpha1.Edit // generation and fields; nil for none
	}{
		{"an update", requestFor(t, stored, changed(more)), true, &v1alpha1.Edit{Generation: 5, Fields: []string{"cpu 2→3"}}},
		{"a refused update", requestFor(t, stored, changed(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })), false, nil},
		{"a label", requestFor(t, stored, changed(func(g *v1alpha1.VmGroup) { g.Labels = map[string]string{"a": "b"} })), true, nil},
		{"a finalizer", requestFor(t, stored, changed(func(g *v1alpha1.VmGroup) { more(g); g.DeletionTimestamp = now() })), true, nil},
		{"a creation", requestFor(t, nil, stored), true, &v1alpha1.Edit{Generation: 1}},
		{"a refused creation", requestFor(t, nil, changed(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 16 })), false, nil},
		{"a scale", scaled(5), true, &v1alpha1.Edit{Generation: 5, Fields: []string{"replicas 3→5"}}},
		{"a refused scale", scaled(51), false, nil},
	} {
		for _, dry := range []bool{false, true} {
			admitted = nil
			c.request.DryRun, c.request.Options = &dry, runtime.RawExtension{Raw: []byte(`{"fieldManager":"kubectl-edit"}`)}
			if got := s.validate(c.request); got.Allowed != c.allowed {
				t.Errorf("%s: %+v", c.story, got.Result)
			}
			if dry || c.want == nil {
				if len(admitted) > 0 {
					t.Errorf("%s, dry run %t: %+v", c.story, dry, admitted)
				}
				continue
			}
			if len(admitted) != 1 {
				t.Errorf("%s: %d requests", c.story, len(admitted))
				continue
			}
			q := admitted[0]
			if q.Group != (edits.Group{Member: testMember, Namespace: "apps", Name: "vg"}) || q.UID != stored.UID || q.Edit.User != "jane" ||
				q.Edit.Manager != "kubectl-edit" || q.Edit.Generation != c.want.Generation || !slices.Equal(q.Edit.Fields, c.want.Fields) {
				t.Errorf("%s: %+v", c.story, q)
			}
		}
	}
}
