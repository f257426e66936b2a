package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

// patience is the timeout of all waits that prove nothing by their length; a loaded machine with the race detector
// is slow.
const patience = time.Minute

const (
	testMember  = "team-a"
	testSegment = "0123456789abcdef0123456789abcdef"
)

// knowledge is the Knowledge of a test. Its fields are set before requests are sent.
type knowledge struct {
	policies *policy.Set // nil: not read yet
	labels   map[string]string
	groups   map[string]*v1alpha1.VmGroup // by namespace/name
	preview  func(*v1alpha1.VmGroup) (Preview, error)
	quota    func(old, group *v1alpha1.VmGroup) []policy.Violation
	// hook runs first in every query, for tests of panics and of slow answers.
	hook func(context.Context) error
}

func (w *knowledge) Policies(context.Context) (*policy.Set, bool) {
	return w.policies, w.policies != nil
}

func (w *knowledge) Requester(ctx context.Context, member, namespace string) (policy.Requester, error) {
	labels := map[string]string{corev1.LabelMetadataName: namespace}
	maps.Copy(labels, w.labels)
	r := policy.Requester{Member: member, Namespace: namespace, NamespaceLabels: labels}
	if w.hook != nil {
		return r, w.hook(ctx)
	}
	return r, nil
}

func (w *knowledge) Group(_ context.Context, _, namespace, name string) (*v1alpha1.VmGroup, error) {
	if group := w.groups[namespace+"/"+name]; group != nil {
		return group, nil
	}
	return nil, apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("vmgroups").GroupResource(), name)
}

func (w *knowledge) Quota(_ context.Context, _ policy.Requester, old, group *v1alpha1.VmGroup) []policy.Violation {
	if w.quota == nil {
		return nil
	}
	return w.quota(old, group)
}

func (w *knowledge) Preview(_ context.Context, _ string, group *v1alpha1.VmGroup) (Preview, error) {
	if w.preview == nil {
		return Preview{VCenter: "default", Known: true}, nil
	}
	return w.preview(group)
}

// echo implements Offers: it answers with the question.
type echo struct{}

func (echo) Of(_ context.Context, by policy.Requester, vcenter, after string) (inquiry.Namespace, error) {
	return inquiry.Namespace{VCenter: by.Member + "/" + by.Namespace, VCenters: []string{vcenter, after}}, nil
}

// served are webhooks on a real HTTPS server on loopback.
type served struct {
	t testing.TB
	// url is the address of the members' port, hubURL that of the hub's own kinds.
	url, hubURL string
	client      *http.Client
	// registry of the metrics.
	registry *prometheus.Registry
	logs     *lines
}

// lines collects a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Init(logr.RuntimeInfo)          {}
func (l *lines) Enabled(int) bool               { return true }
func (l *lines) WithValues(...any) logr.LogSink { return l }
func (l *lines) WithName(string) logr.LogSink   { return l }
func (l *lines) Error(err error, m string, v ...any) {
	l.Info(0, m, append(v, "error", err.Error())...)
}
func (l *lines) Info(_ int, message string, values ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.WriteString(message)
	for _, v := range values {
		l.text.WriteByte(' ')
		encoded, _ := json.Marshal(v)
		l.text.Write(encoded)
	}
	l.text.WriteByte('\n')
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func hubWith(t testing.TB, objects ...client.Object) client.Reader {
	t.Helper()
	return fake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(objects...).Build()
}

// segments implement Segments with a function.
type segments func(member, segment string) bool

// Knows implements Segments.
func (s segments) Knows(member, segment string) bool { return s(member, segment) }

// impact counts with a function.
type impact func(changed *v1alpha1.VmGroupPolicy) (matched, broken int, err error)

// PolicyImpact implements Impact.
func (i impact) PolicyImpact(_ context.Context, changed *v1alpha1.VmGroupPolicy) (matched, broken int, err error) {
	return i(changed)
}

// handlers returns the webhooks without a server.
func handlers(t testing.TB, w Knowledge, change func(*Options)) (Doors, *served) {
	t.Helper()
	s := &served{t: t, registry: prometheus.NewRegistry(), logs: &lines{}}
	o := Options{
		Knowledge: w, Offers: echo{}, Hub: hubWith(t), Registerer: s.registry, Log: logr.New(s.logs),
		Segments: segments(func(member, segment string) bool { return member == testMember && segment == testSegment }),
		// Only tests of a timeout must reach one.
		BodyTimeout: patience, Timeout: patience, HubTimeout: patience,
	}
	if change != nil {
		change(&o)
	}
	doors, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return doors, s
}

// listen serves a handler as the manager does, without any answer by net/http itself.
func listen(t testing.TB, handler http.Handler) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.DisableGeneralOptionsHandler = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func serve(t testing.TB, w Knowledge, change func(*Options)) *served {
	t.Helper()
	doors, s := handlers(t, w, change)
	server, hub := listen(t, doors.Members), listen(t, doors.Hub) // with one certificate
	s.url, s.hubURL, s.client = server.URL, hub.URL, server.Client()
	s.client.Timeout = 2 * patience
	return s
}

// post sends a body to the members' port and returns the status and the response body.
func (s *served) post(path string, body []byte) (int, []byte) {
	s.t.Helper()
	return s.postTo(s.url+path, body)
}

func (s *served) postTo(url string, body []byte) (int, []byte) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, text
}

// ask sends a review to the members' port and returns the response in it.
func (s *served) ask(path string, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	s.t.Helper()
	return s.askAt(s.url+path, request)
}

// askHub does the same on the port of the hub's own kinds.
func (s *served) askHub(path string, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	s.t.Helper()
	return s.askAt(s.hubURL+path, request)
}

func (s *served) askAt(path string, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	s.t.Helper()
	status, text := s.postTo(path, reviewOf(s.t, request))
	if status != http.StatusOK {
		s.t.Fatalf("POST %s: status %d: %s", path, status, text)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &review); err != nil {
		s.t.Fatalf("POST %s: %v in %s", path, err, text)
	}
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || review.Response == nil ||
		review.Response.UID != request.UID {
		s.t.Fatalf("POST %s: not the answer to this review: %s", path, text)
	}
	return review.Response
}

func (s *served) mutate(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	s.t.Helper()
	return s.ask(MutatePath(testMember, testSegment), request)
}

func (s *served) validate(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	s.t.Helper()
	return s.ask(ValidatePath(testMember, testSegment), request)
}

// count returns how many requests ended with a verdict.
func (s *served) count(webhook, member string, v verdict) float64 {
	s.t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	want := map[string]string{"webhook": webhook, "member": member, "verdict": string(v)}
	for _, family := range families {
		if family.GetName() != "vmgroup_admission_requests_total" {
			continue
		}
	series:
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if want[label.GetName()] != label.GetValue() {
					continue series
				}
			}
			return metric.GetCounter().GetValue()
		}
	}
	return 0
}

func reviewOf(t testing.TB, request *admissionv1.AdmissionRequest) []byte {
	t.Helper()
	text, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: request,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// requestFor makes the request of an API server about a group; old is nil for a create. Both are objects or texts.
func requestFor(t testing.TB, old, object any) *admissionv1.AdmissionRequest {
	t.Helper()
	request := &admissionv1.AdmissionRequest{
		UID:       "6f3d5a0e-0000-4000-8000-000000000001",
		Kind:      metav1.GroupVersionKind{Group: v1alpha1.GroupVersion.Group, Version: "v1alpha1", Kind: "VmGroup"},
		Resource:  groupResource,
		Name:      "vg",
		Namespace: "apps",
		Operation: admissionv1.Create,
		UserInfo:  authenticationv1.UserInfo{Username: "jane"},
		Object:    rawOf(t, object),
	}
	if old != nil {
		request.Operation, request.OldObject = admissionv1.Update, rawOf(t, old)
	}
	return request
}

// scaleRequest makes the request of an API server about the subresource scale.
func scaleRequest(t testing.TB, from, to int32) *admissionv1.AdmissionRequest {
	t.Helper()
	scale := func(replicas int32) map[string]any {
		spec := map[string]any{}
		if replicas != 0 { // the type omits a zero
			spec["replicas"] = replicas
		}
		return map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale",
			"metadata": map[string]any{"name": "vg", "namespace": "apps"}, "spec": spec,
		}
	}
	request := requestFor(t, scale(from), scale(to))
	request.Kind = metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	request.SubResource = "scale"
	return request
}

func rawOf(t testing.TB, object any) runtime.RawExtension {
	t.Helper()
	if text, ok := object.(string); ok {
		return runtime.RawExtension{Raw: []byte(text)}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

// aGroup makes a group that default policies allow.
var someTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func aGroup(change ...func(*v1alpha1.VmGroup)) *v1alpha1.VmGroup {
	g := &v1alpha1.VmGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: "vg", Namespace: "apps", UID: types.UID("11111111-0000-4000-8000-000000000001")},
		Spec:       v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "linux-12", VCenter: "default", Replicas: new(int32(3))},
	}
	for _, c := range change {
		c(g)
	}
	return g
}

func policyNamed(name string, spec v1alpha1.VmGroupPolicySpec) v1alpha1.VmGroupPolicy {
	return v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// limits of 4 CPUs, 8 GiB, 50 replicas and templates linux-*, with defaults.
func defaultPolicy() v1alpha1.VmGroupPolicySpec {
	return v1alpha1.VmGroupPolicySpec{
		Limits: &v1alpha1.PolicyLimits{
			CPU:      &v1alpha1.CountRange{Min: new(int32(1)), Max: new(int32(4))},
			Replicas: &v1alpha1.CountRange{Max: new(int32(50))},
		},
		Templates: &v1alpha1.PolicyTemplates{Allow: []string{"linux-*"}},
		Defaults:  &v1alpha1.PolicyDefaults{CPU: 2, Memory: 4, Template: "linux-12", VCenter: "default"},
	}
}

func knowledgeWith(policies ...v1alpha1.VmGroupPolicy) *knowledge {
	return &knowledge{policies: policy.Compile(policies)}
}

func now() *metav1.Time { return new(metav1.Now()) }
