//go:build unix && !fast

package objects

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// bench is a member in which the limits change from case to case.
type bench struct {
	*member
	defaulting bool              // whether the member fills in omitted fields of groups
	namespaces map[string]string // labels of each, as text
}

// TestTheTableHoldsWithoutTheHub runs the table of policies through a real API server that has the admission objects and
// nothing else: no operator, no webhook.
func TestTheTableHoldsWithoutTheHub(t *testing.T) {
	m := newBench(t)
	for _, c := range table(t) {
		m.each(t, c.Name, func(b *bench) { b.run(c) })
	}
}

// TestWithoutMutatingPoliciesNothingIsFilledIn runs the table's cases for members that do not serve them.
func TestWithoutMutatingPoliciesNothingIsFilledIn(t *testing.T) {
	m := newBench(t)
	// A refusal proves the removal of the policy only after it was seen to fill in: the API server observes both a moment
	// later.
	m.limit(v1alpha1.VmGroupLimitsSpec{})
	m.withoutDefaults()
	await.NoError(m.t, "end of the defaults", func() error {
		err := m.team.Create(t.Context(), leavesMemoryOut(), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "spec.memory: Required value") {
			return fmt.Errorf("defaults are still filled in: %w", err)
		}
		return nil
	})
	cases := 0
	for _, c := range table(t) {
		if len(c.Filled) == 0 {
			continue
		}
		if verdict, _ := c.WithoutHub(false); verdict == policytest.Refused {
			cases++
			m.each(t, c.Name, func(b *bench) { b.run(c) })
		}
	}
	if cases == 0 {
		t.Error("the table has no such case")
	}
}

func table(t *testing.T) []policytest.Case {
	t.Helper()
	cases, err := policytest.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func newBench(t *testing.T) *bench {
	t.Helper()
	m := &bench{member: newMember(t), defaulting: true, namespaces: map[string]string{}}
	m.install()
	return m
}

// withoutDefaults removes the objects that fill in omitted fields of groups.
func (b *bench) withoutDefaults() {
	b.t.Helper()
	b.defaulting = false
	for _, known := range Known() {
		if !strings.HasPrefix(known.Kind, "MutatingAdmission") {
			continue
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(known.GroupVersionKind)
		object.SetName(known.Name)
		if err := b.operator.Delete(b.t.Context(), object); err != nil {
			b.t.Fatal(err)
		}
	}
}

// each runs check as a test of its own in the same member.
func (b *bench) each(t *testing.T, name string, check func(*bench)) bool {
	t.Helper()
	return t.Run(name, func(t *testing.T) {
		on := *b.member
		on.t = t
		check(&bench{member: &on, defaulting: b.defaulting, namespaces: b.namespaces})
	})
}

// run compares the answer with the table.
func (b *bench) run(c policytest.Case) {
	b.t.Helper()
	b.label(c.Namespace, c.NamespaceLabels)
	group := b.prepare(c)
	limits, err := Compile(c.Set(), c.Member)
	if err != nil {
		b.t.Fatal(err)
	}
	b.limit(limits)

	err = b.request(c, group)
	verdict, message := c.WithoutHub(b.defaulting)
	got := policytest.Allowed
	if err != nil {
		got = policytest.Refused
	}
	if got != verdict {
		b.t.Fatalf("%s (%v), want %s: %s", got, err, verdict, message)
	}
	if message != "" && reason(err) != message {
		b.t.Errorf("message\n%s, want\n%s", reason(err), message)
	}
	if err == nil && c.Scale == nil {
		b.checkFilled(c, group)
	}
}

// limit makes the API server enforce spec, and fill in from it. It waits for both, with a policy that concerns no other
// namespace: an API server watches the limits once for validating policies and once more for mutating ones.
func (b *bench) limit(spec v1alpha1.VmGroupLimitsSpec) {
	b.t.Helper()
	marker, probe, want := newMarker()
	spec.Policies = append([]v1alpha1.LimitsPolicy{marker}, spec.Policies...)
	b.write(spec)
	if !b.defaulting {
		probe.Object["spec"].(map[string]any)["memory"] = int64(marker.Defaults.Memory)
	}
	b.awaitRefusal(probe, want)
}

func (b *bench) write(spec v1alpha1.VmGroupLimitsSpec) {
	b.t.Helper()
	spec.Unmatched = boundsOf(policy.DefaultLimits())
	bundle, err := Render(Input{Member: "m1", Limits: spec, Exempt: []string{operatorUser}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.apply(bundle.Objects[:1])
}

// label gives the namespace its labels, and returns when admission policies see them.
func (b *bench) label(namespace string, labels map[string]string) {
	b.t.Helper()
	if text, known := b.namespaces[namespace]; known && text == fmt.Sprint(labels) {
		return
	}
	b.namespaces[namespace] = fmt.Sprint(labels)
	generations++
	generation := fmt.Sprint(generations)
	all := map[string]string{"generation": generation}
	for key, value := range labels {
		all[key] = value
	}
	b.namespace(namespace, all)
	name := "labels-" + generation
	b.write(v1alpha1.VmGroupLimitsSpec{Policies: []v1alpha1.LimitsPolicy{{
		Name: name, Enforced: true,
		Selector:     []v1alpha1.LimitsRequirement{{Key: "generation", Operator: metav1.LabelSelectorOpIn, Values: []string{generation}}},
		LimitsBounds: v1alpha1.LimitsBounds{CPU: v1alpha1.LimitsRange{Max: ptr.To[int64](0)}},
	}}})
	b.awaitRefusal(newGroup(namespace, "probe", 1, 1, "t", 1), fmt.Sprintf("%q", name))
}

// anything are bounds that every group keeps.
func anything() v1alpha1.LimitsBounds {
	r := v1alpha1.LimitsRange{Min: ptr.To[int64](0)}
	return v1alpha1.LimitsBounds{CPU: r, Memory: r, Disk: r, Replicas: r}
}

// prepare returns the object that the request sends; the previous one exists already, whatever the policies refuse.
func (b *bench) prepare(c policytest.Case) *unstructured.Unstructured {
	b.t.Helper()
	group := raw(c.Group, c.Spec)
	group.SetNamespace(c.Namespace)
	if c.Old == nil {
		return group
	}
	b.limit(v1alpha1.VmGroupLimitsSpec{Policies: []v1alpha1.LimitsPolicy{{Name: "open", Enforced: true, LimitsBounds: anything()}}})
	old := raw(c.Group, c.Old)
	if len(c.Old) == 0 {
		old = raw(c.Group, nil)
	}
	old.SetNamespace(c.Namespace)
	old.SetFinalizers([]string{v1alpha1.VmGroupFinalizer})
	if err := b.team.Create(b.t.Context(), old); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		ctx := context.Background()
		if err := b.team.Delete(ctx, old); client.IgnoreNotFound(err) != nil {
			b.t.Error(err)
		}
		release := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":[]}}`))
		if err := b.team.Patch(ctx, old, release); client.IgnoreNotFound(err) != nil {
			b.t.Errorf("remove the finalizer: %v", err)
		}
	})
	if c.Deleting {
		if err := b.team.Delete(b.t.Context(), old.DeepCopy()); err != nil {
			b.t.Fatal(err)
		}
		if err := b.team.Get(b.t.Context(), client.ObjectKeyFromObject(old), old); err != nil {
			b.t.Fatal(err)
		}
	}
	group.SetResourceVersion(old.GetResourceVersion())
	group.SetFinalizers(old.GetFinalizers())
	return group
}

// request sends the request of the case, without storing it. Afterwards group is the object that the API server would have
// stored.
func (b *bench) request(c policytest.Case, group *unstructured.Unstructured) error {
	switch {
	case c.Scale != nil:
		target := newGroup(c.Namespace, c.Group, 0, 0, "", 0)
		return b.scale(target, *c.Scale,
			&client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})
	case c.Old != nil:
		return b.team.Update(b.t.Context(), group, client.DryRunAll)
	}
	return b.team.Create(b.t.Context(), group, client.DryRunAll)
}

// checkFilled compares the filled-in fields with the table. A field that a policy can fill in and did not stays as the user
// wrote it.
func (b *bench) checkFilled(c policytest.Case, group *unstructured.Unstructured) {
	b.t.Helper()
	for _, field := range []string{"cpu", "memory", "template", "vcenter"} {
		want, filled := c.Filled["spec."+field]
		if !filled {
			want = c.Spec[field]
		}
		got, _, err := unstructured.NestedFieldNoCopy(group.Object, "spec", field)
		if err != nil {
			b.t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			b.t.Errorf("spec.%s is %v, want %v", field, got, want)
		}
	}
}
