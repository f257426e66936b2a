package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// FuzzEvaluate passes JSON that an API server could accept to all checks. The corpus is the table, so that fuzzing
// starts from each of its cases, and reaches unlikely ones.
func FuzzEvaluate(f *testing.F) {
	cases, err := policytest.Load()
	if err != nil {
		f.Fatal(err)
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		return string(data)
	}
	for _, c := range cases {
		f.Add(text(c.Policies), text(c.Old), text(c.Spec), c.Member, c.Namespace, "stage=dev", c.TemplatePath)
	}
	for _, hostile := range [][2]string{
		{`{"p":{"limits":{"memory":{"min":"-1Gi","max":"-5"}}}}`, `{"cpu":-1,"memory":-2147483648,"replicas":-7}`},
		{`{"p":{"limits":{"memory":{"max":"99999999999999999999999E"}},"quota":{"memory":"1n","vms":-1,"cpu":-9223372036854775808}}}`, `{"cpu":2147483647,"memory":2147483647,"replicas":2147483647}`},
		{`{"p":{"limits":{"memory":{"min":"9223372036854775807","max":"9223372036854775807"}}}}`, `{"template":"////"}`},
		{`{"p":{"match":{"namespaceSelector":{"matchLabels":{"":"","/":"*"}},"memberClusters":[""],"exclude":["**"]}}}`, `{"template":".."}`},
		{`{"":{"mode":"?","templates":{"allow":["","*","***"],"deny":["/"]},"defaults":{"cpu":-3}}}`, `{"template":"\u0000\"%s"}`},
	} {
		f.Add(hostile[0], `{}`, hostile[1], "", "", "", "/")
	}
	f.Fuzz(func(t *testing.T, policiesJSON, oldJSON, specJSON, member, namespace, label, path string) {
		var specs map[string]v1alpha1.VmGroupPolicySpec
		var old, spec v1alpha1.VmGroupSpec
		if json.Unmarshal([]byte(policiesJSON), &specs) != nil || json.Unmarshal([]byte(oldJSON), &old) != nil ||
			json.Unmarshal([]byte(specJSON), &spec) != nil {
			return
		}
		var policies []v1alpha1.VmGroupPolicy
		for name, p := range specs {
			policies = append(policies, v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: p})
		}
		key, value, _ := strings.Cut(label, "=")
		r := policy.Requester{Member: member, Namespace: namespace, NamespaceLabels: map[string]string{key: value}}
		set := policy.Compile(policies)
		everything(set, r, old, spec, path)

		set.Default(r, &spec)
		if filled := set.Default(r, &spec); len(filled) > 0 {
			t.Errorf("filled %v again", filled)
		}
		if refused, _ := set.EvaluateUpdate(r, spec, spec, path); len(refused) > 0 {
			t.Errorf("an update that changes nothing is refused: %v", messages(refused))
		}
		for _, v := range set.Evaluate(r, spec, path) {
			if !strings.HasPrefix(v.Error(), v.Field+": ") || v.Detail == "" || v.Rule == "" {
				t.Errorf("violation %+v says %q", v, v.Error())
			}
		}
		for _, p := range set.Quotas(r) {
			if violations := p.CheckQuota(r, "web", spec, policy.UsageOf(spec), policy.UsageOf(spec), policy.Usage{}); len(violations) > 0 {
				t.Errorf("what is granted already is refused: %v", messages(violations))
			}
		}
	})
}
