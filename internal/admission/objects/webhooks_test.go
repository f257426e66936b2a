//go:build unix && !fast

package objects

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionreview "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// hub allows everything and records its requests.
type hub struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{}
	h.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := admissionreview.AdmissionReview{}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		h.mu.Lock()
		h.calls = append(h.calls, strings.TrimSuffix(fmt.Sprintln(r.URL.Path, review.Request.Operation, review.Request.SubResource), "\n"))
		h.mu.Unlock()
		review.Response = &admissionreview.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hub) caBundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})
}

// took returns the calls since the last time.
func (h *hub) took() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls := h.calls
	h.calls = nil
	return calls
}

// awaitCached waits until the API server's cache has a group as it is stored. A change is tried on the cached group first;
// if that is outdated, webhooks are called with it too before the retry.
func (m *member) awaitCached(group *v1alpha1.VmGroup) {
	m.t.Helper()
	key := client.ObjectKeyFromObject(group)
	await.NoError(m.t, "the cache of the API server", func() error {
		stored, cached := &v1alpha1.VmGroup{}, &v1alpha1.VmGroup{}
		if err := m.operator.Get(m.t.Context(), key, stored); err != nil {
			return client.IgnoreNotFound(err)
		}
		fromCache := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}
		if err := m.operator.Get(m.t.Context(), key, cached, fromCache); err != nil {
			return err
		}
		if cached.ResourceVersion != stored.ResourceVersion {
			return fmt.Errorf("it is at %s, not at %s", cached.ResourceVersion, stored.ResourceVersion)
		}
		return nil
	})
}

func TestTheHubIsAskedOnlyAboutWhatItCanDecide(t *testing.T) {
	m, h := newMember(t), newHub(t)
	bundle, err := Render(Input{
		Member: "m1", WebhookBase: h.URL + "/", Segment: "secret", CABundle: h.caBundle(), FailurePolicy: v1alpha1.AdmissionFail,
		Exempt: []string{operatorUser}, Writers: []string{teamUser}, Limits: m.compile(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if bundle.NoWebhook != "" || bundle.CABundleHash != BundleHash(h.caBundle()) {
		t.Errorf("no webhook %q, hash %q", bundle.NoWebhook, bundle.CABundleHash)
	}
	t.Cleanup(m.uninstall)
	m.apply(bundle.Objects)
	m.awaitInForce()
	probe := newGroup(metav1.NamespaceDefault, "probe", 1, 1, "t", 1)
	await.NoError(m.t, "calls of the hub", func() error {
		if err := m.team.Create(t.Context(), probe.DeepCopy(), client.DryRunAll); err != nil {
			return err
		}
		if calls := h.took(); len(calls) != 2 {
			return fmt.Errorf("calls: %v", calls)
		}
		return nil
	})

	group := newGroup(metav1.NamespaceDefault, "asked", 1, 1, "t", 1)
	metadata := func(fields map[string]any) map[string]any { return map[string]any{"metadata": fields} }
	const mutate, validate = "/clusters/m1/secret/mutate ", "/clusters/m1/secret/validate "
	for _, step := range []struct {
		story string
		do    func() error
		want  []string
	}{
		{"create", func() error { return m.team.Create(t.Context(), group) }, []string{mutate + "CREATE ", validate + "CREATE "}},
		{"edit", func() error { return m.patch(group, map[string]any{"spec": map[string]any{"cpu": 2}}) }, []string{validate + "UPDATE "}},
		{"scale", func() error { return m.scale(group, 2) }, []string{validate + "UPDATE scale"}},
		{"scale to the same", func() error { return m.scale(group, 2) }, nil},
		{"label", func() error { return m.patch(group, metadata(map[string]any{"labels": map[string]any{"a": "b"}})) }, nil},
		{"finalizer", func() error {
			return m.patch(group, metadata(map[string]any{"finalizers": []string{v1alpha1.VmGroupFinalizer}}))
		}, nil},
		{"edit by the operator", func() error {
			edited := &v1alpha1.VmGroup{}
			if err := m.operator.Get(t.Context(), client.ObjectKeyFromObject(group), edited); err != nil {
				return err
			}
			edited.Spec.CPU = 3
			return m.operator.Update(t.Context(), edited)
		}, nil},
		{"delete", func() error { return m.team.Delete(t.Context(), group) }, nil},
		{"edit of what is being deleted", func() error { return m.patch(group, map[string]any{"spec": map[string]any{"cpu": 4}}) }, nil},
		{"removal of the finalizer", func() error { return m.patch(group, metadata(map[string]any{"finalizers": []string{}})) }, nil},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.story, err)
		}
		if got := h.took(); !slices.Equal(got, step.want) {
			t.Errorf("%s: the hub was asked %q, want %q", step.story, got, step.want)
		}
		m.awaitCached(group)
	}

	h.Close()
	if err := m.team.Create(t.Context(), probe, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("creation with failure policy Fail while the hub is unreachable: %v", err)
	}
}

// withDefaults is a policy that fills in all fields.
func withDefaults() v1alpha1.VmGroupPolicy {
	p := v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "defaults"}}
	p.Spec.Defaults = &v1alpha1.PolicyDefaults{CPU: 1, Memory: 1, Template: "t", VCenter: "default"}
	return p
}

// bare is a group without these fields, and others that have a value.
func bare(name string, without ...string) *unstructured.Unstructured {
	spec := map[string]any{"cpu": int64(1), "memory": int64(1), "template": "t", "vcenter": "default", "replicas": int64(1)}
	for _, field := range without {
		delete(spec, field)
	}
	g := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	g.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	g.SetNamespace(metav1.NamespaceDefault)
	g.SetName(name)
	return g
}

func TestWhoWaitsForOneCallAndNotForTwo(t *testing.T) {
	m, h := newMember(t), newHub(t)
	all := []string{"cpu", "memory", "template", "vcenter"}
	const mutate, validate = "/clusters/m1/secret/mutate CREATE ", "/clusters/m1/secret/validate CREATE "
	for _, c := range []struct {
		story    string
		policies bool
		defaults bool
		disk     int32
		without  []string
		zero     []string
		want     []string
		refused  bool
	}{
		{story: "defaults of the member's policies", policies: true, defaults: true, without: all, want: []string{validate}},
		{story: "nothing missing", policies: true, defaults: true, want: []string{validate}},
		{story: "no vCenter, and no default for it", policies: true, without: []string{"vcenter"}, want: []string{validate}},
		{story: "no default for a field that is required", policies: true, without: []string{"cpu"}, want: []string{mutate}, refused: true},
		{story: "a zero, which the schema refuses", policies: true, defaults: true, zero: []string{"cpu"}, refused: true},
		{story: "a zero, without policies", defaults: true, zero: []string{"cpu"}, refused: true},
		{story: "defaults of the hub", defaults: true, without: all, want: []string{mutate}, refused: true}, // this hub fills in no field
		{story: "a vCenter from the hub", defaults: true, without: []string{"vcenter"}, want: []string{mutate, validate}},
		{story: "nothing missing, without policies", defaults: true, want: []string{validate}},
		{story: "a size of disks from the member's policies", policies: true, defaults: true, disk: 40, want: []string{validate}},
		{story: "a size of disks from the hub", defaults: true, disk: 40, want: []string{mutate, validate}},
	} {
		t.Run(c.story, func(t *testing.T) {
			var policies []v1alpha1.VmGroupPolicy
			if c.defaults {
				policies = append(policies, withDefaults())
				policies[0].Spec.Defaults.Disk = c.disk
			}
			bundle, err := Render(Input{
				Member: "m1", WebhookBase: h.URL, Segment: "secret", CABundle: h.caBundle(), FailurePolicy: v1alpha1.AdmissionIgnore,
				Exempt: []string{operatorUser}, Limits: m.compile(policies...), ServesMutatingPolicies: c.policies,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer m.uninstall()
			m.apply(bundle.Objects)
			m.awaitInForce()
			await.NoError(t, "the hub to be asked as it should", func() error {
				h.took()
				asked := bare("asked", c.without...)
				for _, field := range c.zero {
					asked.Object["spec"].(map[string]any)[field] = int64(0)
				}
				err := m.team.Create(t.Context(), asked, client.DryRunAll)
				if got := h.took(); (err != nil) != c.refused || !slices.Equal(got, c.want) {
					return fmt.Errorf("asked %q, want %q; refused %v, error %w", got, c.want, c.refused, err)
				}
				return nil
			})
		})
	}
}

// TestASilentHubCostsAWriteTwoSecondsAtMost: the hub accepts connections, and never answers.
func TestASilentHubCostsAWriteTwoSecondsAtMost(t *testing.T) {
	m := newMember(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, c := range []struct {
		story    string
		policies bool
		most     time.Duration
	}{
		{"with mutating policies", true, 2 * time.Second},
		{"without", false, 2*time.Second + 500*time.Millisecond}, // two calls of one second, and the rest of a creation
	} {
		t.Run(c.story, func(t *testing.T) {
			bundle, err := Render(Input{
				Member: "m1", WebhookBase: "https://" + silent.Addr().String(), Segment: "secret", CABundle: authority(t, 1), FailurePolicy: v1alpha1.AdmissionIgnore,
				Exempt: []string{operatorUser}, Limits: m.compile(withDefaults()), ServesMutatingPolicies: c.policies,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer m.uninstall()
			m.apply(bundle.Objects)
			m.awaitInForce()
			await.NoError(t, "the hub to be called", func() error {
				begun := time.Now()
				if err := m.team.Create(t.Context(), bare("probe", "vcenter"), client.DryRunAll); err != nil || time.Since(begun) < time.Second {
					return fmt.Errorf("it took %s: %w", time.Since(begun), err)
				}
				return nil
			})
			begun := time.Now()
			if err := m.team.Create(t.Context(), bare("waits", "vcenter"), client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > c.most {
				t.Errorf("a creation took %s, and %s is the most", took, c.most)
			} else {
				t.Logf("a creation took %s", took.Round(time.Millisecond))
			}
		})
	}
}
