//go:build unix && !fast

package webhook

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// cluster is a real API server that calls the webhooks: a hub and its own member.
type cluster struct {
	t *testing.T
	client.Client
	// url is the address of the members' port, hubURL that of the hub's own kinds.
	url, hubURL string
	caBundle    []byte
	config      *rest.Config

	mu       sync.Mutex
	warnings []string
}

// HandleWarningHeader collects the warnings that users see.
func (c *cluster) HandleWarningHeader(_ int, _, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings = append(c.warnings, text)
}

// warned returns the warnings since the last call.
func (c *cluster) warned() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.warnings
	c.warnings = nil
	return w
}

func startCluster(t *testing.T, w Knowledge, change func(*Options)) *cluster {
	t.Helper()
	control := localcluster.ForTest(t, "webhooks")
	doors, _ := handlers(t, w, change)
	server, hub := httptest.NewTLSServer(doors.Members), httptest.NewTLSServer(doors.Hub) // with one certificate
	t.Cleanup(server.Close)
	t.Cleanup(hub.Close)
	c := &cluster{t: t, url: server.URL, hubURL: hub.URL, caBundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	config := rest.CopyConfig(control.Config)
	config.WarningHandler = c
	c.config = config
	var err error
	if c.Client, err = client.New(config, client.Options{Scheme: allkinds.Scheme()}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		var object unstructured.Unstructured
		c.load(file, &object.Object)
		c.create(&object)
	}
	await.NoError(c.t, "the kinds are served", func() error {
		return errors.Join(c.List(t.Context(), &v1alpha1.VmGroupList{}), c.List(t.Context(), &v1alpha1.VCenterList{}),
			c.List(t.Context(), &v1alpha1.MemberClusterList{}), c.List(t.Context(), &v1alpha1.VmGroupPolicyList{}))
	})
	return c
}

func (c *cluster) load(file string, into any) {
	c.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		c.t.Fatalf("%s: %v", file, err)
	}
}

func (c *cluster) create(object client.Object) {
	c.t.Helper()
	if err := c.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

// register makes the API server call the webhooks about VmGroups, as a member does.
func (c *cluster) register(failure admissionregistrationv1.FailurePolicyType) {
	c.t.Helper()
	rule := func(resource string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: operations, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"v1alpha1"}, Resources: []string{resource},
		}}
	}
	both := rule("vmgroups", admissionregistrationv1.Create, admissionregistrationv1.Update)
	call := func(path string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{URL: new(c.url + path), CABundle: c.caBundle}
	}
	none, onDryRun := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun
	c.create(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "vmgroup-operator"},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "mutate.vmgroups.vm.codeconnect.vmworld.com", ClientConfig: call(MutatePath(testMember, testSegment)),
			Rules: []admissionregistrationv1.RuleWithOperations{both}, FailurePolicy: &failure, SideEffects: &none,
			AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
		}},
	})
	c.create(&admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "vmgroup-operator"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "validate.vmgroups.vm.codeconnect.vmworld.com", ClientConfig: call(ValidatePath(testMember, testSegment)),
			Rules: []admissionregistrationv1.RuleWithOperations{both, rule("vmgroups/scale", admissionregistrationv1.Update)}, FailurePolicy: &failure,
			SideEffects: &onDryRun, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(30)),
		}},
	})
}

const refusedBy = `admission webhook "validate.vmgroups.vm.codeconnect.vmworld.com" denied the request: `

// made is a group as a user applies it.
func made(name string, change func(*v1alpha1.VmGroup)) *v1alpha1.VmGroup {
	return aGroup(func(g *v1alpha1.VmGroup) {
		g.Name, g.Namespace, g.UID = name, metav1.NamespaceDefault, ""
		if change != nil {
			change(g)
		}
	})
}

func tooMuch(g *v1alpha1.VmGroup) { g.Spec.CPU, g.Spec.Replicas = 16, new(int32(100)) }

// written is a group as a user writes it, with any value in its spec.
func written(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "VmGroup",
		"metadata": map[string]any{"name": name, "namespace": metav1.NamespaceDefault}, "spec": spec,
	}}
}

func TestAgainstARealAPIServer(t *testing.T) {
	w := &changingKnowledge{knowledge: knowledgeWith(policyNamed("default", defaultPolicy()))}
	recorded := &recordedEdits{}
	c := startCluster(t, w, func(o *Options) { o.Edits = recorded })
	c.hostnames()
	c.register(admissionregistrationv1.Ignore)
	// An API server observes mutating and validating configurations separately.
	await.NoError(c.t, "both webhooks are called", func() error {
		if c.Create(t.Context(), made("probe", tooMuch), client.DryRunAll) == nil {
			return errors.New("too much is accepted")
		}
		return c.Create(t.Context(), written("probe", map[string]any{}), client.DryRunAll)
	})
	for _, part := range []struct {
		name string
		run  func(*cluster, *changingKnowledge)
	}{
		{"a refusal", (*cluster).refusal},
		{"defaults and warnings", (*cluster).defaults},
		{"a default that changed since", (*cluster).refilled},
		{"scaling", (*cluster).scaling},
		{"what an update does", (*cluster).foretold},
		{"an edit of kubectl vmgroup plan", (*cluster).inquiries},
		{"what a namespace can use", (*cluster).offers},
		{"who edited", recorded.whoEdited},
		{"a group that breaks a policy is labeled and deleted", (*cluster).letGo},
		{"without policies the failure policy decides", (*cluster).unjudged},
		{"the hub's own kinds", (*cluster).hubKinds},
		{"the schemas of the hub's own kinds", (*cluster).hubSchemas},
	} {
		t.Run(part.name, func(t *testing.T) {
			c.t = t
			part.run(c, w)
		})
	}
}

func (c *cluster) refusal(*changingKnowledge) {
	err := c.Create(c.t.Context(), made("big", tooMuch))
	want := refusedBy + `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "default"; ` +
		`spec.replicas: Invalid value: 100: exceeds the maximum 50 of VmGroupPolicy "default"`
	if err == nil || err.Error() != want || !apierrors.IsInvalid(err) {
		c.t.Errorf("%v\nwant %s", err, want)
	}
	if cause, ok := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid); !ok || cause.Field != "spec.cpu" {
		c.t.Errorf("cause %+v", cause)
	}
	// The schema reports a type error better than a webhook.
	err = c.Create(c.t.Context(), written("wrong", map[string]any{"cpu": "four"}))
	if err == nil || !strings.Contains(err.Error(), `spec.cpu: Invalid value: "string": spec.cpu in body must be of type integer`) {
		c.t.Error(err)
	}
}

func (c *cluster) defaults(*changingKnowledge) {
	c.warned()
	g := written("empty", map[string]any{})
	c.create(g)
	spec, _ := g.Object["spec"].(map[string]any)
	if spec["cpu"] != int64(2) || spec["memory"] != int64(4) || spec["template"] != "linux-12" || spec["vcenter"] != "default" {
		c.t.Errorf("spec %v", spec)
	}
	want := []string{`spec.template: "linux-12" does not exist in VCenter "default"; VMs are cloned once it does`}
	if got := c.warned(); !slices.Equal(got, want) {
		c.t.Errorf("warnings %q", got)
	}
}

func (c *cluster) scaling(w *changingKnowledge) {
	g := made("scaled", nil)
	c.create(g)
	w.put(g)
	for _, s := range []struct {
		to   int32
		want string
	}{
		{51, refusedBy + `spec.replicas: Invalid value: 51: exceeds the maximum 50 of VmGroupPolicy "default"`}, {50, ""}, {0, ""}, {2, ""},
	} {
		err := c.SubResource("scale").Update(c.t.Context(), g.DeepCopy(), client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: g.Name, Namespace: g.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: s.to},
		}))
		if (err == nil) != (s.want == "") || (err != nil && err.Error() != s.want) {
			c.t.Errorf("to %d: %v", s.to, err)
		}
	}
}

func (c *cluster) letGo(w *changingKnowledge) {
	g := made("old", func(g *v1alpha1.VmGroup) { g.Finalizers = []string{v1alpha1.VmGroupFinalizer} })
	c.create(g)
	tight := policyNamed("default", defaultPolicy())
	tight.Spec.Limits.CPU.Max = new(int32(1))
	w.set(policy.Compile([]v1alpha1.VmGroupPolicy{tight}))
	defer w.set(policy.Compile([]v1alpha1.VmGroupPolicy{policyNamed("default", defaultPolicy())}))
	c.letLeave(g)
}

// letLeave labels and deletes an object, and removes its finalizer.
func (c *cluster) letLeave(object client.Object) {
	c.t.Helper()
	object.SetLabels(map[string]string{"a": "b"})
	if err := c.Update(c.t.Context(), object); err != nil {
		c.t.Errorf("a label: %v", err)
	}
	if err := c.Delete(c.t.Context(), object); err != nil {
		c.t.Error(err)
	}
	old, _ := object.DeepCopyObject().(client.Object)
	object.SetFinalizers(nil)
	if err := c.Patch(c.t.Context(), object, client.MergeFrom(old)); err != nil {
		c.t.Errorf("the finalizer stays: %v", err)
	}
}

func (c *cluster) unjudged(w *changingKnowledge) {
	w.set(nil)
	if err := c.Create(c.t.Context(), made("unjudged", tooMuch)); err != nil {
		c.t.Errorf("Ignore: %v", err)
	}
	for _, kind := range []client.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}} {
		kind.SetName("vmgroup-operator")
		if err := c.Delete(c.t.Context(), kind); err != nil {
			c.t.Fatal(err)
		}
	}
	c.register(admissionregistrationv1.Fail)
	await.NoError(c.t, "Fail refuses with the reason", func() error {
		err := c.Create(c.t.Context(), made("refused", tooMuch), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), errNoPolicies.Error()) {
			return errors.Join(errors.New("accepted, or refused without the reason"), err)
		}
		return nil
	})
}

// hubKinds tests config/webhook unchanged except for the address: there is no Service here.
func (c *cluster) hubKinds(*changingKnowledge) {
	var manifest admissionregistrationv1.ValidatingWebhookConfiguration
	c.load("../../config/webhook/manifests.yaml", &manifest)
	for i := range manifest.Webhooks {
		called := &manifest.Webhooks[i].ClientConfig
		called.URL, called.CABundle, called.Service = new(c.hubURL+*called.Service.Path), c.caBundle, nil
	}
	c.create(&manifest)
	// The schema refuses on its own what it can detect; these are left for the webhook.
	twice := func(vc *v1alpha1.VCenter) {
		vc.Spec.LegacyFolders = []v1alpha1.LegacyFolder{
			{Folder: "one", MemberCluster: "local", Namespace: "a", Group: "b"}, {Folder: "two", MemberCluster: "local", Namespace: "a", Group: "b"},
		}
	}
	bad := vcenter(func(vc *v1alpha1.VCenter) {
		twice(vc)
		vc.Finalizers = []string{v1alpha1.VCenterFinalizer}
	})
	want := `spec.legacyFolders[1].group: Duplicate value: "b"`
	stored := bad.DeepCopy()
	await.NoError(c.t, "a bad VCenter is refused", func() error {
		err := c.Create(c.t.Context(), bad.DeepCopy(), client.DryRunAll)
		if err == nil || !strings.HasSuffix(err.Error(), `denied the request: `+want) {
			return errors.Join(errors.New("accepted, or refused with another message"), err)
		}
		return nil
	})
	err := c.Create(c.t.Context(), &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1alpha1.VmGroupPolicySpec{
		Match: v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: "Sometimes"}},
		}},
	}})
	if err == nil || !strings.HasSuffix(err.Error(), `operator: Invalid value: "Sometimes": not a valid selector operator`) {
		c.t.Errorf("a policy: %v", err)
	}
	c.warned()
	fails := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}, Spec: v1alpha1.MemberClusterSpec{
		KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "k"}, Admission: &v1alpha1.MemberAdmission{FailurePolicy: v1alpha1.AdmissionFail},
	}}
	if err := c.Create(c.t.Context(), fails, client.DryRunAll); err != nil {
		c.t.Errorf("a MemberCluster: %v", err)
	}
	if said := c.warned(); len(said) != 1 || !strings.HasPrefix(said[0], "spec.admission.failurePolicy: Fail refuses every VmGroup") {
		c.t.Errorf("a MemberCluster: warnings %q", said)
	}
	// A group that was stored before there was a webhook can be labeled, and released.
	if err := c.Delete(c.t.Context(), &manifest); err != nil {
		c.t.Fatal(err)
	}
	await.NoError(c.t, "no webhook any more", func() error { return c.Create(c.t.Context(), stored.DeepCopy(), client.DryRunAll) })
	c.create(stored)
	manifest.ObjectMeta = metav1.ObjectMeta{Name: manifest.Name}
	c.create(&manifest)
	await.NoError(c.t, "the webhook is back", func() error {
		if c.Create(c.t.Context(), vcenter(func(vc *v1alpha1.VCenter) { vc.Name = "x"; twice(vc) }), client.DryRunAll) == nil {
			return errors.New("accepted")
		}
		return nil
	})
	c.letLeave(stored)
}

// hubSchemas shows that errors within one object are refused without any webhook.
func (c *cluster) hubSchemas(*changingKnowledge) {
	server := func(address string) *v1alpha1.VCenter {
		return vcenter(func(vc *v1alpha1.VCenter) { vc.Spec.Server = address })
	}
	spec := func(f func(*v1alpha1.VCenterSpec)) *v1alpha1.VCenter {
		return vcenter(func(vc *v1alpha1.VCenter) { f(&vc.Spec) })
	}
	member := func(address string) *v1alpha1.MemberCluster {
		return &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}, Spec: v1alpha1.MemberClusterSpec{
			KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: "k"}, Admission: &v1alpha1.MemberAdmission{URL: address},
		}}
	}
	policy := func(change func(*v1alpha1.VmGroupPolicySpec)) *v1alpha1.VmGroupPolicy {
		p := policyNamed("p", v1alpha1.VmGroupPolicySpec{})
		change(&p.Spec)
		return &p
	}
	memory := func(least, most v1alpha1.Amount) *v1alpha1.VmGroupPolicy {
		return policy(func(s *v1alpha1.VmGroupPolicySpec) {
			s.Limits = &v1alpha1.PolicyLimits{Memory: &v1alpha1.AmountRange{}}
			if least != "" {
				s.Limits.Memory.Min = &least
			}
			if most != "" {
				s.Limits.Memory.Max = &most
			}
		})
	}
	for _, o := range []struct {
		story   string
		object  client.Object
		refused string // no message: accepted
	}{
		{"a host", server("vc.example.com"), ""},
		{"a host with port", server("vc.example.com:8443"), ""},
		{"a URL", server("https://vc.example.com:8443/sdk"), ""},
		{"an IPv6 address", server("https://[2001:db8::1]/sdk"), ""},
		{"a server in the Secret", server(""), ""},
		{"no host", server("https://"), "of the form https://<host>[:port]"},
		{"no URL", server("https://a b"), "of the form https://<host>[:port]"},
		{"ftp", server("ftp://vc"), "of the form https://<host>[:port]"},
		{"a password", server("https://u:p@vc"), "must not contain a user name"},
		{"a query", server("https://vc/?a=b"), "a host, a port and the path /sdk only"},
		{"plain http", server("http://vc"), "must use https"},
		{"plain http of a simulator", spec(func(s *v1alpha1.VCenterSpec) {
			s.Server, s.TLS = "http://127.0.0.1:8989", &v1alpha1.TLSConfig{InsecureSkipVerify: true}
		}), ""},
		{"no certificate", spec(func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{CABundle: "nothing"} }), "no PEM certificate"},
		{"a certificate", spec(func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{CABundle: string(c.caBundle)} }), ""},
		{"half a thumbprint", spec(func(s *v1alpha1.VCenterSpec) { s.TLS = &v1alpha1.TLSConfig{Thumbprint: "AB:CD"} }), "20 or 32 bytes"},
		{"a thumbprint", spec(func(s *v1alpha1.VCenterSpec) {
			s.TLS = &v1alpha1.TLSConfig{Thumbprint: strings.TrimSuffix(strings.Repeat("aB:", 32), ":")}
		}), ""},
		{"a grant for no member", spec(func(s *v1alpha1.VCenterSpec) { s.Grants = []v1alpha1.Grant{{MemberClusters: []string{"Team"}}} }), "no MemberCluster"},
		{"a grant of nothing", spec(func(s *v1alpha1.VCenterSpec) {
			s.Grants = []v1alpha1.Grant{{MemberClusters: []string{"*"}, Templates: []string{" x"}}}
		}), "match nothing"},
		{"a grant", spec(func(s *v1alpha1.VCenterSpec) {
			s.Grants = []v1alpha1.Grant{{MemberClusters: []string{"team-*"}, Templates: []string{"a b", "*"}, Networks: []string{"VM Network"}}}
		}), ""},
		{"an address of webhooks", member("https://hub.example.com:9443"), ""},
		{"no address of webhooks", member(""), ""},
		{"an address without a host", member("https://:9443"), "must be of the form"},
		{"an address with a password", member("https://u:p@hub"), "must be of the form"},
		{"an address with a query", member("https://hub?x=1"), "must be of the form"},
		{"a policy for no member", policy(func(s *v1alpha1.VmGroupPolicySpec) { s.Match.MemberClusters = []string{"Team"} }), "no MemberCluster"},
		{"a policy of nothing", policy(func(s *v1alpha1.VmGroupPolicySpec) { s.Templates = &v1alpha1.PolicyTemplates{Allow: []string{""}} }), "match nothing"},
		{"a policy that excludes nothing", policy(func(s *v1alpha1.VmGroupPolicySpec) { s.Match.Exclude = []string{"x "} }), "match nothing"},
		{"a negative quota", policy(func(s *v1alpha1.VmGroupPolicySpec) {
			s.Quota = &v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("-1Gi"))}
		}), "must be an amount of memory"},
		{"a quota with a fraction in its exponent", policy(func(s *v1alpha1.VmGroupPolicySpec) {
			s.Quota = &v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("1e1.5"))}
		}), "must be an amount of memory"},
		{"a maximum with an exponent that takes all memory", memory("", "1234567890123456789e999999999"), "must be an amount of memory"},
		{"a range of such exponents", memory("1e999999999", "1e999999999"), "must be an amount of memory"},
		{"a minimum without digits", memory("Gi", ""), "must be an amount of memory"},
		{"a maximum that no integer holds", memory("", "10E"), "must be an amount of memory"},
		{"a minimum above the maximum", memory("2Gi", "1Gi"), "min must not exceed max"},
		{"the largest maximum", memory("0.5Gi", "9223372036854775807"), ""},
		{"a template with a control character", policy(func(s *v1alpha1.VmGroupPolicySpec) {
			s.Templates = &v1alpha1.PolicyTemplates{Deny: []string{"x\u007fy"}}
		}), "control characters"},
		{"a namespace with what YAML takes for a line break", policy(func(s *v1alpha1.VmGroupPolicySpec) { s.Match.Exclude = []string{"x\u0085y"} }), "control characters"},
		{"a default template with a line break", policy(func(s *v1alpha1.VmGroupPolicySpec) { s.Defaults = &v1alpha1.PolicyDefaults{Template: "x\ny"} }), "control characters"},
		{"a default VCenter with a character that is none", policy(func(s *v1alpha1.VmGroupPolicySpec) { s.Defaults = &v1alpha1.PolicyDefaults{VCenter: "x\uffff"} }), "control characters"},
		{"a template in another script", policy(func(s *v1alpha1.VmGroupPolicySpec) {
			s.Templates = &v1alpha1.PolicyTemplates{Allow: []string{"\u6a21\u677f\u3000*"}}
		}), ""},
		{"a policy", policy(func(s *v1alpha1.VmGroupPolicySpec) {
			s.Quota, s.Templates = &v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("0"))}, &v1alpha1.PolicyTemplates{Deny: []string{"windows-*"}}
		}), ""},
	} {
		o.object.SetName("schema")
		err := c.Create(c.t.Context(), o.object, client.DryRunAll)
		if (err == nil) != (o.refused == "") || err != nil && (!strings.Contains(err.Error(), o.refused) || strings.Contains(err.Error(), "denied the request")) {
			c.t.Errorf("%s: %v", o.story, err)
		}
	}
}

// changingKnowledge is knowledge whose policies and groups change during requests.
type changingKnowledge struct {
	*knowledge
	mu sync.Mutex
}

func (w *changingKnowledge) set(policies *policy.Set) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.policies = policies
}

func (w *changingKnowledge) put(g *v1alpha1.VmGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups = map[string]*v1alpha1.VmGroup{g.Namespace + "/" + g.Name: g.DeepCopy()}
}

func (w *changingKnowledge) Policies(ctx context.Context) (*policy.Set, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.knowledge.Policies(ctx)
}

func (w *changingKnowledge) Group(ctx context.Context, member, namespace, name string) (*v1alpha1.VmGroup, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.knowledge.Group(ctx, member, namespace, name)
}

func (w *changingKnowledge) foresee(preview func(*v1alpha1.VmGroup) (Preview, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.preview = preview
}

// Preview knows no template, unless a forecast is set.
func (w *changingKnowledge) Preview(ctx context.Context, member string, of *v1alpha1.VmGroup) (Preview, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.preview != nil {
		return w.knowledge.Preview(ctx, member, of)
	}
	return Preview{VCenter: "default", Known: true, TemplateMissing: true}, nil
}
