//go:build unix && !fast

package objects

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

const (
	operatorUser = "vmgroup-operator-test"
	teamUser     = "team"
)

// shared is the control plane of all tests of the package.
var shared = localcluster.Share("admission")

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// member is a cluster with the CRDs, seen by its users.
type member struct {
	t              *testing.T
	operator, team client.Client
}

func newMember(t *testing.T) *member {
	t.Helper()
	m := &member{t: t, operator: clientAs(t, operatorUser), team: clientAs(t, teamUser)}
	for _, definition := range crd.Member() {
		if err := m.operator.Create(t.Context(), definition); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		await.NoError(m.t, "CRD "+definition.Name, func() error {
			if err := m.operator.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
				return err
			}
			for _, condition := range definition.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return nil
				}
			}
			return errors.New("not established")
		})
	}
	// Discovery and the handlers of an API server observe a CRD after its status shows that it is established.
	for _, c := range []client.Client{m.operator, m.team} {
		await.NoError(m.t, "the kinds to be served", func() error {
			return errors.Join(c.List(t.Context(), &v1alpha1.VmGroupList{}), c.List(t.Context(), &v1alpha1.VmGroupLimitsList{}))
		})
	}
	m.namespace(markerNamespace, nil)
	return m
}

// clientAs has all permissions, under its own name.
func clientAs(t *testing.T, user string) client.Client {
	t.Helper()
	return clientOf(t, rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}})
}

func clientOf(t *testing.T, who rest.ImpersonationConfig) client.Client {
	t.Helper()
	scheme := allkinds.Scheme()
	config := rest.CopyConfig(shared.Get(t).Config)
	config.Impersonate = who
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// markerNamespace is the namespace in which the marker applies to groups.
const markerNamespace = "marker"

// generations counts markers. No two tests have the same: the API server can still have those of the previous test.
var generations int32

// newMarker returns a policy that concerns only the marker's namespace, and a group. The group shows that the API server
// enforces the policy and sets its defaults: then it is refused with want.
func newMarker() (marker v1alpha1.LimitsPolicy, probe *unstructured.Unstructured, want string) {
	generations++
	marker = v1alpha1.LimitsPolicy{
		Name: fmt.Sprintf("marker-%d", generations), Enforced: true,
		Selector:     []v1alpha1.LimitsRequirement{{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpIn, Values: []string{markerNamespace}}},
		LimitsBounds: v1alpha1.LimitsBounds{Memory: v1alpha1.LimitsRange{Max: ptr.To[int64](0)}},
		Defaults:     v1alpha1.PolicyDefaults{Memory: generations},
	}
	return marker, leavesMemoryOut(), fmt.Sprintf("spec.memory: Invalid value: %d: exceeds the maximum 0 GiB of VmGroupPolicy %q", generations, marker.Name)
}

// leavesMemoryOut returns a group that the API server accepts only if a policy fills in its memory.
func leavesMemoryOut() *unstructured.Unstructured {
	probe := raw("probe", map[string]any{"cpu": int64(1), "template": "t", "replicas": int64(1)})
	probe.SetNamespace(markerNamespace)
	return probe
}

// install applies the objects for policies as the operator does, and removes them after the test. It returns when the API
// server enforces all of them: it observes validating and mutating policies separately, and refuses groups while it has the
// latter and not the schema of a new CRD.
func (m *member) install(policies ...v1alpha1.VmGroupPolicy) {
	m.t.Helper()
	bundle := m.render(policies...)
	marker, probe, want := newMarker()
	marked, err := Render(Input{
		Member: "m1", Limits: v1alpha1.VmGroupLimitsSpec{Policies: []v1alpha1.LimitsPolicy{marker}, Unmatched: boundsOf(policy.DefaultLimits())},
		Exempt: []string{operatorUser}, ServesMutatingPolicies: true,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(m.uninstall)
	m.apply(marked.Objects)
	m.awaitRefusal(probe, want)
	await.NoError(m.t, "protection of the limits", func() error {
		if err := m.writesLimits(m.t.Context()); !apierrors.IsForbidden(err) {
			return fmt.Errorf("another user can write limits: %w", err)
		}
		return nil
	})
	m.apply(bundle.Objects[:1])
	probe.Object["spec"].(map[string]any)["memory"] = int64(marker.Defaults.Memory)
	await.NoError(m.t, "limits in force", func() error {
		err := m.team.Create(m.t.Context(), probe.DeepCopy(), client.DryRunAll)
		if err != nil && (!strings.Contains(err.Error(), "denied request: spec") || strings.Contains(err.Error(), want)) {
			return fmt.Errorf("those of before: %w", err)
		}
		return nil
	})
	m.awaitInForce()
}

// awaitRefusal waits until the API server refuses probe with want in its message.
func (m *member) awaitRefusal(probe client.Object, want string) {
	m.t.Helper()
	await.NoError(m.t, want, func() error {
		object, _ := probe.DeepCopyObject().(client.Object)
		err := m.team.Create(m.t.Context(), object, client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("not in force: %w", err)
		}
		return nil
	})
}

// writesLimits makes a user other than the operator write limits, without storing them.
func (m *member) writesLimits(ctx context.Context) error {
	return m.team.Create(ctx, &v1alpha1.VmGroupLimits{ObjectMeta: metav1.ObjectMeta{Name: "another"}}, client.DryRunAll)
}

func (m *member) render(policies ...v1alpha1.VmGroupPolicy) Bundle {
	m.t.Helper()
	bundle, err := Render(Input{Member: "m1", Limits: m.compile(policies...), Exempt: []string{operatorUser}, ServesMutatingPolicies: true})
	if err != nil {
		m.t.Fatal(err)
	}
	return bundle
}

func (m *member) compile(policies ...v1alpha1.VmGroupPolicy) v1alpha1.VmGroupLimitsSpec {
	m.t.Helper()
	limits, err := Compile(policy.Compile(policies), "m1")
	if err != nil {
		m.t.Fatal(err)
	}
	return limits
}

func (m *member) apply(objects []*unstructured.Unstructured) {
	m.t.Helper()
	for _, object := range objects {
		err := m.operator.Apply(m.t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()),
			client.FieldOwner(FieldManager), client.ForceOwnership)
		if err != nil {
			m.t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

func (m *member) uninstall() {
	m.t.Helper()
	for _, known := range Known() {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(known.GroupVersionKind)
		object.SetName(known.Name)
		if err := m.operator.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
			m.t.Errorf("%s %s: %v", known.Kind, known.Name, err)
		}
	}
	// The API server observes that a moment later; the next test must not meet the old policies. Two of them validate.
	await.NoError(m.t, "removal of the policies", func() error {
		return errors.Join(m.tryCreate(context.Background(), 900), m.writesLimits(context.Background()))
	})
}

// awaitInForce waits until the API server evaluates the policy with its parameter: a moment passes after it was written.
func (m *member) awaitInForce() {
	m.t.Helper()
	await.NoError(m.t, "policies in force", func() error {
		err := m.tryCreate(m.t.Context(), 500)
		if err == nil || !strings.Contains(err.Error(), "denied request: spec") {
			return fmt.Errorf("a group that nothing allows: %w", err)
		}
		return nil
	})
}

// tryCreate creates a group that no policy of the tests allows, without storing it.
func (m *member) tryCreate(ctx context.Context, cpu int32) error {
	probe := newGroup("default", "probe", cpu, 24000, "no-such-template-anywhere", 499)
	probe.Spec.CPU = min(cpu, 768)
	return m.team.Create(ctx, probe, client.DryRunAll)
}

func newGroup(namespace, name string, cpu, memory int32, template string, replicas int32) *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.VmGroupSpec{CPU: cpu, Memory: memory, Template: template, Replicas: &replicas},
	}
}

// namespace makes a namespace with labels; without a controller manager it cannot be removed again.
func (m *member) namespace(name string, labels map[string]string) {
	m.t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	err := m.operator.Create(m.t.Context(), namespace)
	if apierrors.IsAlreadyExists(err) {
		current := &corev1.Namespace{}
		if err = m.operator.Get(m.t.Context(), client.ObjectKeyFromObject(namespace), current); err == nil {
			current.Labels = labels
			err = m.operator.Update(m.t.Context(), current)
		}
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

// reason is a policy's message in err, without the prefix of the API server.
func reason(err error) string {
	if err == nil {
		return ""
	}
	if _, message, found := strings.Cut(err.Error(), "denied request: "); found {
		return message
	}
	return err.Error()
}
