//go:build unix

package member

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// fakeAdmission renders a small bundle: a policy that bounds replicas, and a webhook configuration that matches no object.
type fakeAdmission struct {
	mu       sync.Mutex
	listener func()
	ca       []byte
	limit    int
	without  []string // omitted kinds
	broken   string   // kind that no API server accepts
	targets  []install.Target
}

func (f *fakeAdmission) tells(changed func()) { f.listener = changed }

// change changes the answer of Objects.
func (f *fakeAdmission) change(change func(*fakeAdmission)) {
	f.mu.Lock()
	change(f)
	f.mu.Unlock()
	f.listener()
}

// lastTarget is the target of the last rendering.
func (f *fakeAdmission) lastTarget() install.Target {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.targets) == 0 {
		return install.Target{}
	}
	return f.targets[len(f.targets)-1]
}

func hashOf(ca []byte) string {
	sum := sha256.Sum256(ca)
	return hex.EncodeToString(sum[:])
}

func (f *fakeAdmission) CABundleHash(install.Target) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ca == nil {
		return ""
	}
	return hashOf(f.ca)
}

// The kinds of the fake's objects, in the order of their installation.
var fakeKinds = []string{"VmGroupLimits", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
	"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration"}

func fakeName(kind string) install.Object {
	result := install.Object{Name: "vmgroup-operator"}
	result.Group, result.Version, result.Kind = "admissionregistration.k8s.io", "v1", kind
	if kind == "VmGroupLimits" {
		result.GroupVersionKind = v1alpha1.GroupVersion.WithKind(kind)
	}
	return result
}

func (f *fakeAdmission) Objects(target install.Target) (install.Bundle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.targets = append(f.targets, target)
	bundle := install.Bundle{}
	for _, kind := range slices.Backward(fakeKinds) {
		bundle.Known = append(bundle.Known, fakeName(kind))
	}
	if target.Leaving {
		return bundle, nil
	}
	for _, kind := range fakeKinds {
		switch {
		case slices.Contains(f.without, kind),
			!target.ServesMutatingPolicies && kind[:3] == "Mut",
			f.ca == nil && kind == "ValidatingWebhookConfiguration":
			continue
		}
		object, err := f.object(kind, target)
		if err != nil {
			return install.Bundle{}, err
		}
		bundle.Objects = append(bundle.Objects, object)
	}
	if f.ca == nil {
		bundle.NoWebhook = "there is no certificate."
	} else {
		bundle.CABundleHash = hashOf(f.ca)
	}
	return bundle, nil
}

func (f *fakeAdmission) object(kind string, target install.Target) (*unstructured.Unstructured, error) {
	spec := map[string]string{
		"VmGroupLimits": `spec: {unmatched: {}}`,
		"ValidatingAdmissionPolicy": fmt.Sprintf(`spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [vm.codeconnect.vmworld.com], apiVersions: ["*"], operations: [CREATE], resources: [vmgroups]}]}
  matchConditions: [{name: mine, expression: "object.metadata.name.startsWith('limited')"}]
  validations: [{expression: "object.spec.replicas <= %d", message: "too many"}]`, f.limit),
		"ValidatingAdmissionPolicyBinding": `spec: {policyName: vmgroup-operator, validationActions: [Deny]}`,
		"MutatingAdmissionPolicy": `spec:
  failurePolicy: Ignore
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [example.test], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]`,
		"MutatingAdmissionPolicyBinding": `spec: {policyName: vmgroup-operator}`,
		"ValidatingWebhookConfiguration": fmt.Sprintf(`webhooks:
- name: validate.vm.codeconnect.vmworld.com
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: %s
  timeoutSeconds: 3
  clientConfig: {url: "https://127.0.0.1:1/clusters/%s/validate", caBundle: %s}
  rules: [{apiGroups: [example.test], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]`,
			target.FailurePolicy, target.Name, base64.StdEncoding.EncodeToString(f.ca)),
	}[kind]
	if kind == f.broken {
		spec = `spec: {policyName: ""}`
	}
	content, err := yaml.YAMLToJSON([]byte("apiVersion: " + fakeName(kind).GroupVersion().String() + "\nkind: " + kind + "\n" + spec))
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(content); err != nil {
		return nil, err
	}
	object.SetName("vmgroup-operator")
	object.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "vmgroup-operator"})
	return object, nil
}

// testOptions are the options of an installation.
type testOptions struct {
	settings.Options
	admission install.Renderer
}

// withAdmission makes an installation that keeps the fake's objects. Reapply is far away, so that each repair proves a
// detection.
func withAdmission(fake *fakeAdmission) func(*testOptions) {
	return func(o *testOptions) {
		o.admission = fake
		o.Timings.Inspect = 100 * time.Millisecond
		o.Timings.SchemaLag = time.Nanosecond
		o.Timings.Reapply = 1000 * time.Hour
	}
}

// admissionObject reads one of the fake's objects in a member, nil if it does not exist.
func admissionObject(t *testing.T, member client.Client, kind string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(fakeName(kind).GroupVersionKind)
	err := member.Get(t.Context(), types.NamespacedName{Name: "vmgroup-operator"}, object)
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return object
}
