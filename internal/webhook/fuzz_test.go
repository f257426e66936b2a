package webhook

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// fuzzKnowledge answers every query, so that a fuzzer reaches every rule.
func fuzzKnowledge() *knowledge {
	strict := defaultPolicy()
	strict.Templates.MustExist = true
	strict.Quota = &v1alpha1.PolicyQuota{VMs: new(int32(5)), CPU: new(int64(10)), Groups: new(int32(1))}
	advice := defaultPolicy()
	advice.Mode, advice.Match.Exclude = v1alpha1.PolicyWarn, []string{"a*"}
	w := knowledgeWith(policyNamed("default", strict), policyNamed("advice", advice))
	stored := aGroup()
	w.groups = map[string]*v1alpha1.VmGroup{"apps/vg": stored}
	w.preview = func(g *v1alpha1.VmGroup) (Preview, error) {
		p := Preview{
			VCenter: g.Spec.VCenter, Known: len(g.Spec.Template)%2 == 0, TemplateMissing: len(g.Spec.Template)%3 == 0, Reason: g.Spec.Template,
		}
		if p.Known {
			p.Plan = plan.Compute(plan.Input{
				Now: someTime, Name: g.Name, Spec: g.Spec, Revision: plan.Revision(g.Spec), Observation: vsphere.Observation{Complete: true},
			})
		}
		if g.Spec.Placement != nil {
			p.Denials = []policy.Denial{{Field: "spec.placement.datastore", Message: g.Spec.Placement.Datastore}}
		}
		return p, nil
	}
	w.quota = func(old, g *v1alpha1.VmGroup) []policy.Violation {
		r := policy.Requester{Member: testMember, Namespace: g.Namespace}
		var granted policy.Usage
		if old != nil {
			granted = policy.UsageOf(old.Spec)
		}
		quotas := w.policies.Quotas(r)
		out := make([]policy.Violation, 0, len(quotas))
		for _, p := range quotas {
			out = append(out, p.CheckQuota(r, g.Name, g.Spec, policy.UsageOf(g.Spec), granted, policy.Usage{Groups: 1, VMs: 3, CPU: 6})...)
		}
		return out
	}
	return w
}

// FuzzValidateHandler sends any body to every path: there is always a complete answer, and nothing panics.
func FuzzValidateHandler(f *testing.F) {
	doors, _ := handlers(f, fuzzKnowledge(), nil)
	paths := []string{
		ValidatePath(testMember, testSegment), MutatePath(testMember, testSegment), VCenterPath, MemberClusterPath, VmGroupPolicyPath,
	}
	large := aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.Replicas = 768, new(int32(500)) })
	empty := `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroup","metadata":{"name":"x"}}`
	for _, seed := range []*admissionv1.AdmissionRequest{
		requestFor(f, nil, aGroup()), requestFor(f, aGroup(), large), requestFor(f, nil, large), requestFor(f, nil, empty), requestFor(f, empty, aGroup()),
		requestFor(f, aGroup(), empty), scaleRequest(f, 3, 900), scaleRequest(f, 0, 1), requestFor(f, nil, `{"spec":{"cpu":"x"}}`), requestFor(f, nil, "[1]"),
		requestFor(f, nil, vcenter(nil)),
		requestFor(f, nil, `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"MemberCluster","spec":{"admission":{"url":"https://%zz"}}}`),
		requestFor(f, nil, `{"apiVersion":"vm.codeconnect.vmworld.com/v1alpha1","kind":"VmGroupPolicy","spec":{"limits":{"memory":{"min":"1e99Gi","max":"-1"}}}}`),
	} {
		f.Add(reviewOf(f, seed))
	}
	for _, seed := range []string{"", "{}", "null", "[[[[", `{"request":{"uid":"a","object":{"spec":null}}}`, strings.Repeat(`{"a":`, 100)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, path := range paths {
			request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(string(text)))
			request.Header.Set("Content-Type", "application/json")
			recorder := httptest.NewRecorder()
			handler := doors.Hub
			if strings.HasPrefix(path, "/clusters/") {
				handler = doors.Members
			}
			handler.ServeHTTP(recorder, request)
			switch recorder.Code {
			case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
				if recorder.Body.Len() == 0 {
					t.Fatal("a problem without a word")
				}
			case http.StatusOK:
				checkAnswer(t, text, recorder.Body.Bytes())
			default:
				t.Fatalf("%s: status %d: %s", path, recorder.Code, recorder.Body)
			}
		}
	})
}

func checkAnswer(t *testing.T, question, text []byte) {
	t.Helper()
	var asked, answered admissionv1.AdmissionReview
	if err := json.Unmarshal(question, &asked); err != nil {
		t.Fatalf("an answer to what cannot be read: %v", err)
	}
	if err := json.Unmarshal(text, &answered); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	response := answered.Response
	if response == nil || response.UID != asked.Request.UID || response.Result == nil {
		t.Fatalf("not a complete answer: %s", text)
	}
	if !response.Allowed && (response.Result.Message == "" || response.Result.Code < 400) {
		t.Fatalf("a refusal without a reason: %s", text)
	}
	for _, w := range response.Warnings {
		if len(w) > maxWarning {
			t.Fatalf("a warning of %d bytes", len(w))
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	doors, _ := handlers(b, knowledgeWith(policyNamed("default", defaultPolicy())), nil)
	review := string(reviewOf(b, requestFor(b, aGroup(), aGroup(func(g *v1alpha1.VmGroup) { g.Spec.CPU = 4 }))))
	b.ReportAllocs()
	for b.Loop() {
		request := httptest.NewRequest(http.MethodPost, ValidatePath(testMember, testSegment), strings.NewReader(review))
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		doors.Members.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusOK {
			b.Fatal(recorder.Code)
		}
	}
}
