package webhook

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// bounds calls see with each bound that a schema puts on a list or a text below it. make puts its argument into that place.
func bounds(path string, schema apiextensionsv1.JSONSchemaProps, put func(any) any, see func(path string, most int64, of func(n int64) any)) {
	switch {
	case schema.Type == "string" && schema.MaxLength != nil:
		see(path, *schema.MaxLength, func(n int64) any { return put(strings.Repeat("é", int(n))) })
	case schema.Type == "array":
		if schema.MaxItems != nil {
			see(path, *schema.MaxItems, func(n int64) any {
				list := make([]any, n)
				for i := range list {
					list[i] = map[string]any{}
					if schema.Items.Schema.Type == "string" {
						list[i] = fmt.Sprintf("p%d", i)
					}
				}
				return put(list)
			})
		}
		bounds(path+"[0]", *schema.Items.Schema, func(v any) any { return put([]any{v}) }, see)
	}
	for name, property := range schema.Properties {
		bounds(path+"."+name, property, func(v any) any { return put(map[string]any{name: v}) }, see)
	}
}

// TestAnObjectMayBeAsLargeAsItsSchemaSaysAndNoLarger compares the sizes of the handlers with those of the CRDs.
func TestAnObjectMayBeAsLargeAsItsSchemaSaysAndNoLarger(t *testing.T) {
	// The webhook reads none of these in a request.
	unseen := map[string]bool{
		"spec.credentialsSecretRef.name": true, "spec.resourcePool": true, "spec.datastore": true, "spec.network": true,
		"spec.defaults.template": true, "spec.defaults.vcenter": true,
		"spec.kubeconfigSecretRef.name": true, "spec.kubeconfigSecretRef.key": true, "spec.clusterUID": true,
		"spec.bootstrapKubeconfigSecretRef.name": true, "spec.bootstrapKubeconfigSecretRef.key": true,
	}
	s := serve(t, knowledgeWith(), nil)
	paths := map[string]string{"VCenter": VCenterPath, "MemberCluster": MemberClusterPath, "VmGroupPolicy": VmGroupPolicyPath}
	for _, definition := range crd.Hub() {
		kind, seen := definition.Spec.Names.Kind, 0
		if paths[kind] == "" {
			continue
		}
		ask := func(spec any) string {
			request := requestFor(t, nil, map[string]any{
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind, "metadata": map[string]any{"name": "alpha"}, "spec": spec,
			})
			request.Kind.Kind, request.Name, request.Namespace = kind, "alpha", ""
			if got := s.askHub(paths[kind], request); !got.Allowed {
				return got.Result.Message
			}
			return ""
		}
		bounds("spec", specSchema(definition), func(v any) any { return v }, func(path string, most int64, of func(int64) any) {
			if unseen[path] {
				return
			}
			seen++
			if got := ask(of(most + 1)); !strings.HasPrefix(got, path+": Too ") {
				t.Errorf("%s %s of size %d: %.200q", kind, path, most+1, got)
			}
			if got := ask(of(most)); strings.Contains(got, ": Too ") {
				t.Errorf("%s %s of size %d: %.200q", kind, path, most, got)
			}
		})
		if seen == 0 {
			t.Errorf("%s has no bounds", kind)
		}
	}
}

// TestASmallRequestMakesNoGreatAnswer: a client that reaches the port need not obey a schema.
func TestASmallRequestMakesNoGreatAnswer(t *testing.T) {
	s := serve(t, knowledgeWith(), nil)
	text := func(spec string) *admissionv1.AdmissionRequest {
		request := requestFor(t, nil, `{"apiVersion":"`+v1alpha1.GroupVersion.String()+`","kind":"VCenter","metadata":{"name":"a"},"spec":`+spec+`}`)
		request.Kind = metav1.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: "v1alpha1", Kind: "VCenter"}
		request.Name, request.Namespace = "a", ""
		return request
	}
	many := func(n int, entry string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
	}
	for story, spec := range map[string]string{
		"legacy folders":               `{"legacyFolders":` + many(3000, "{}") + `}`,
		"as many as the schema allows": `{"legacyFolders":` + many(512, "{}") + `}`,
		"grants":                       `{"grants":` + many(3000, `{"templates":[""]}`) + `}`,
		"patterns of a grant":          `{"grants":[{"templates":` + many(3000, `""`) + `}]}`,
		"patterns of many grants":      `{"grants":` + many(64, `{"templates":`+many(64, `""`)+`}`) + `}`,
		"template folders":             `{"templates":{"folders":` + many(64, `""`) + `}}`,
		"a selector":                   `{"grants":[{"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":` + many(3000, `"-"`) + `}]}}]}`,
		"values of a selector":         `{"grants":[{"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In","values":` + many(256, `"-"`) + `}]}}]}`,
	} {
		got := s.askHub(VCenterPath, text(spec))
		if got.Allowed || got.Result.Details == nil || len(got.Result.Details.Causes) == 0 {
			t.Errorf("%s: allowed %v, %+v", story, got.Allowed, got.Result)
			continue
		}
		if n := len(got.Result.Details.Causes); n > maxCauses {
			t.Errorf("%s: %d causes", story, n)
		}
	}
}
