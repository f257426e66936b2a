package webhook

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// caseKnowledge is the Knowledge that a case of the table describes.
func caseKnowledge(c policytest.Case) *knowledge {
	w := &knowledge{policies: c.Set(), labels: c.NamespaceLabels, groups: map[string]*v1alpha1.VmGroup{}}
	w.preview = func(group *v1alpha1.VmGroup) (Preview, error) {
		p := Preview{VCenter: group.Spec.VCenter, Known: true, TemplatePath: c.TemplatePath, TemplateMissing: c.TemplateMissing}
		if p.VCenter == "" {
			p.VCenter = "default"
		}
		return p, nil
	}
	w.quota = func(old, group *v1alpha1.VmGroup) []policy.Violation {
		var granted policy.Usage
		if old != nil {
			granted = policy.UsageOf(old.Spec)
		}
		quotas := w.policies.Quotas(c.Requester())
		out := make([]policy.Violation, 0, len(quotas))
		for _, p := range quotas {
			out = append(out, p.CheckQuota(c.Requester(), group.Name, group.Spec, policy.UsageOf(group.Spec), granted, c.UsedByOthers(p))...)
		}
		return out
	}
	if old := c.OldSpec(); old != nil {
		g := aGroup(func(g *v1alpha1.VmGroup) { g.Name, g.Namespace, g.Spec = c.Group, c.Namespace, *old })
		w.groups[c.Namespace+"/"+c.Group] = g
	}
	return w
}

// object is the object that the API server sends: as the user wrote it, with the defaults of the
// schema.
func object(c policytest.Case, spec map[string]any) map[string]any {
	metadata := map[string]any{"name": c.Group, "namespace": c.Namespace}
	if c.Deleting {
		metadata["deletionTimestamp"], metadata["finalizers"] = "2026-01-01T00:00:00Z", []string{v1alpha1.VmGroupFinalizer}
	}
	o := map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "VmGroup", "metadata": metadata}
	if spec != nil {
		spec = maps.Clone(spec)
		if _, set := spec["replicas"]; !set {
			spec["replicas"] = 1
		}
		o["spec"] = spec
	}
	return o
}

func requestOf(t *testing.T, c policytest.Case) *admissionv1.AdmissionRequest {
	t.Helper()
	var request *admissionv1.AdmissionRequest
	switch {
	case c.Scale != nil:
		request = scaleRequest(t, *c.OldSpec().Replicas, *c.Scale)
	case c.Old == nil:
		request = requestFor(t, nil, object(c, c.Spec))
	case len(c.Old) == 0:
		request = requestFor(t, object(c, nil), object(c, c.Spec))
	default:
		request = requestFor(t, object(c, c.Old), object(c, c.Spec))
	}
	request.Name, request.Namespace = c.Group, c.Namespace
	return request
}

// apply applies a patch of fields of spec to an object, as the API server does, and returns the
// fields.
func apply(t *testing.T, request *admissionv1.AdmissionRequest, response *admissionv1.AdmissionResponse) map[string]any {
	t.Helper()
	filled := map[string]any{}
	if len(response.Patch) == 0 {
		return filled
	}
	if response.PatchType == nil || *response.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatalf("the patch %s has type %v", response.Patch, response.PatchType)
	}
	var patch []jsonpatch.Operation
	var o map[string]any
	if err := json.Unmarshal(response.Patch, &patch); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(request.Object.Raw, &o); err != nil {
		t.Fatal(err)
	}
	for _, op := range patch {
		name, ok := strings.CutPrefix(op.Path, "/spec/")
		if name == "disks/root" {
			name = "disks"
			op.Value = map[string]any{"root": op.Value, "data": o["spec"].(map[string]any)["disks"].(map[string]any)["data"]}
		}
		if op.Operation != "add" || !ok || strings.Contains(name, "/") {
			t.Fatalf("the patch has %+v", op)
		}
		o["spec"].(map[string]any)[name] = op.Value
		if value, is, _ := unstructured.NestedFieldNoCopy(o, "spec", "disks", "root", "sizeGiB"); is && name == "disks" {
			name, op.Value = "disks.root.sizeGiB", value
		}
		filled["spec."+name] = op.Value
	}
	request.Object = rawOf(t, o)
	return filled
}

func TestTable(t *testing.T) {
	cases, err := policytest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			s := serve(t, caseKnowledge(c), func(o *Options) {
				o.Segments = segments(func(member, segment string) bool { return member == c.Member && segment == testSegment })
			})
			request := requestOf(t, c)
			filled := map[string]any{}
			if c.Scale == nil {
				response := s.ask(MutatePath(c.Member, testSegment), request)
				if !response.Allowed {
					t.Fatalf("mutation refuses: %+v", response.Result)
				}
				filled = apply(t, request, response)
			}
			if len(filled) != len(c.Filled) || (len(filled) > 0 && !reflect.DeepEqual(filled, c.Filled)) {
				t.Errorf("filled %v, want %v", filled, c.Filled)
			}
			response := s.ask(ValidatePath(c.Member, testSegment), request)
			compare(t, response, c)
		})
	}
}

func compare(t *testing.T, response *admissionv1.AdmissionResponse, c policytest.Case) {
	t.Helper()
	if response.Allowed != (len(c.Refused) == 0) {
		t.Errorf("allowed %v: %+v", response.Allowed, response.Result)
	}
	if !response.Allowed {
		result := response.Result
		if want := strings.Join(c.Refused, "; "); result.Message != want {
			t.Errorf("message:\n%s\nwant:\n%s", result.Message, want)
		}
		if result.Code != 422 || result.Reason != metav1.StatusReasonInvalid || result.Status != metav1.StatusFailure ||
			result.Details == nil || result.Details.Kind != "VmGroup" || result.Details.Name != c.Group {
			t.Errorf("result %+v", result)
		}
		causes := make([]string, 0, len(c.Refused))
		for _, cause := range result.Details.Causes {
			causes = append(causes, cause.Field+": "+cause.Message)
		}
		if !slices.Equal(causes, c.Refused) {
			t.Errorf("causes:\n%s", strings.Join(causes, "\n"))
		}
	}
	want := make([]string, 0, len(c.Warnings))
	for _, w := range c.Warnings {
		want = append(want, untrusted.Text(w, maxWarning))
	}
	if !slices.Equal(response.Warnings, want) {
		t.Errorf("warnings:\n%s\nwant:\n%s", strings.Join(response.Warnings, "\n"), strings.Join(c.Warnings, "\n"))
	}
}
