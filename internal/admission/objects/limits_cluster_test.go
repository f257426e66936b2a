//go:build unix && !fast

package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// keep creates a group that stays until the end of the test, whatever policies refuse, and returns it.
func (m *member) keep(group *v1alpha1.VmGroup) *v1alpha1.VmGroup {
	m.t.Helper()
	if err := m.team.Create(m.t.Context(), group); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if err := m.team.Delete(context.Background(), group); client.IgnoreNotFound(err) != nil {
			m.t.Error(err)
		}
	})
	return group
}

func TestWithoutPoliciesTheOriginalLimitsHold(t *testing.T) {
	m := newMember(t)
	m.install()
	large := newGroup(metav1.NamespaceDefault, "g", 1, 1, "t", 1)
	for size, want := range map[int32]string{
		100: "", 101: "spec.disks.root.sizeGiB: Invalid value: 101: exceeds the maximum 100 GiB that holds by default: no VmGroupPolicy in mode Enforce limits it here",
	} {
		large.Spec.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: size}}
		if got := reason(m.team.Create(t.Context(), large.DeepCopy(), client.DryRunAll)); got != want {
			t.Errorf("a root disk of %d GiB: %q, want %q", size, got, want)
		}
	}
	for _, c := range []struct {
		cpu, memory, replicas int32
		want                  string
	}{
		{4, 8, 1, ""},
		{5, 8, 1, "spec.cpu: Invalid value: 5: exceeds the maximum 4 that holds by default: no VmGroupPolicy in mode Enforce limits it here"},
		{4, 9, 1, "spec.memory: Invalid value: 9: exceeds the maximum 8 GiB that holds by default: no VmGroupPolicy in mode Enforce limits it here"},
		{4, 8, 0, "spec.replicas: Invalid value: 0: is below the minimum 1 that holds by default: no VmGroupPolicy in mode Enforce limits it here"},
	} {
		err := m.team.Create(t.Context(), newGroup(metav1.NamespaceDefault, "g", c.cpu, c.memory, "t", c.replicas), client.DryRunAll)
		if got := reason(err); got != c.want {
			t.Errorf("cpu %d, memory %d, replicas %d: %q, want %q", c.cpu, c.memory, c.replicas, got, c.want)
		}
		if err != nil && !apierrors.IsInvalid(err) {
			t.Errorf("reason %q, want Invalid", apierrors.ReasonForError(err))
		}
	}
}

// scale does the same as kubectl scale.
func (m *member) scale(group *v1alpha1.VmGroup, replicas int32, options ...client.SubResourceUpdateOption) error {
	m.t.Helper()
	scale := &autoscalingv1.Scale{}
	if err := m.team.SubResource("scale").Get(m.t.Context(), group, scale); err != nil {
		m.t.Fatal(err)
	}
	scale.Spec.Replicas = replicas
	return m.team.SubResource("scale").Update(m.t.Context(), group, append(options, client.WithSubResourceBody(scale))...)
}

func TestScaleIsJudgedAndShrinkingPasses(t *testing.T) {
	m := newMember(t)
	group := m.keep(newGroup(metav1.NamespaceDefault, "scaled", 2, 2, "linux-12", 400))
	m.install(limited("small", 4, "8Gi", 5))
	for _, c := range []struct {
		replicas int32
		want     string
	}{
		{450, `spec.replicas: Invalid value: 450: exceeds the maximum 5 of VmGroupPolicy "small"`},
		{400, ""},
		{399, ""},
		{7, ""},
		{1, ""},
		{0, ""},
	} {
		if got := reason(m.scale(group, c.replicas, &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{DryRun: []string{metav1.DryRunAll}}})); got != c.want {
			t.Errorf("400 to %d replicas: %q, want %q", c.replicas, got, c.want)
		}
	}
	if err := m.scale(group, 0); err != nil {
		t.Fatal(err)
	}
	if got, want := reason(m.scale(group, 6)), `spec.replicas: Invalid value: 6: exceeds the maximum 5 of VmGroupPolicy "small"`; got != want {
		t.Errorf("0 to 6 replicas: %q, want %q", got, want)
	}
	if err := m.scale(group, 1); err != nil {
		t.Errorf("0 to 1 replica, still below the minimum: %v", err)
	}
	if err := m.scale(group, 5); err != nil {
		t.Errorf("1 to 5 replicas: %v", err)
	}
}

// patch sends a JSON merge patch.
func (m *member) patch(group *v1alpha1.VmGroup, change map[string]any, options ...client.PatchOption) error {
	m.t.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		m.t.Fatal(err)
	}
	target := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: group.Namespace, Name: group.Name}}
	return m.team.Patch(m.t.Context(), target, client.RawPatch(types.MergePatchType, body), options...)
}

func TestOnlyWhatGetsWorseIsRefused(t *testing.T) {
	m := newMember(t)
	group := m.keep(newGroup(metav1.NamespaceDefault, "big", 16, 32, "windows-11", 9))
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	spec := func(fields map[string]any) map[string]any { return map[string]any{"spec": fields} }
	for _, c := range []struct {
		story  string
		change map[string]any
		want   string
	}{
		{"a label", map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}, ""},
		{"a finalizer", map[string]any{"metadata": map[string]any{"finalizers": []string{v1alpha1.VmGroupFinalizer}}}, ""},
		{"another field", spec(map[string]any{"paused": true}), ""},
		{"more of what is too much", spec(map[string]any{"cpu": 17}), `spec.cpu: Invalid value: 17: exceeds the maximum 4 of VmGroupPolicy "small"`},
		{"less of it, still too much", spec(map[string]any{"cpu": 15}), ""},
		{"more of it again", spec(map[string]any{"cpu": 16}), `spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "small"`},
		{"another template that is not allowed", spec(map[string]any{"template": "images/windows-12"}),
			`spec.template: Invalid value: "images/windows-12": matches none of the templates that VmGroupPolicy "small" allows: linux-*`},
		{"an allowed one", spec(map[string]any{"template": "images/linux-12"}), ""},
		{"the old one again", spec(map[string]any{"template": "windows-11"}),
			`spec.template: Invalid value: "windows-11": matches none of the templates that VmGroupPolicy "small" allows: linux-*`},
		{"fewer VMs, too many still", spec(map[string]any{"replicas": 8}), ""},
		{"one more VM of a kind that is not allowed", spec(map[string]any{"replicas": 9}), `spec.cpu: Invalid value: 15: exceeds the maximum 4 of VmGroupPolicy "small"`},
		{"fewer VMs than the minimum", spec(map[string]any{"replicas": 1}), ""},
		{"everything right", spec(map[string]any{"replicas": 3, "cpu": 4, "memory": 8}), ""},
	} {
		if got := reason(m.patch(group, c.change)); got != c.want {
			t.Errorf("%s: %q, want %q", c.story, got, c.want)
		}
	}
	if err := m.patch(group, map[string]any{"metadata": map[string]any{"finalizers": []string{}}}); err != nil {
		t.Errorf("removal of the finalizer: %v", err)
	}
}

func TestAGroupThatIsBeingDeletedIsLeftAlone(t *testing.T) {
	m := newMember(t)
	group := newGroup(metav1.NamespaceDefault, "going", 16, 32, "windows-11", 9)
	group.Finalizers = []string{v1alpha1.VmGroupFinalizer}
	m.keep(group)
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	if err := m.team.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	if err := m.patch(group, map[string]any{"spec": map[string]any{"cpu": 32}}); err != nil {
		t.Errorf("an edit: %v", err)
	}
	if err := m.patch(group, map[string]any{"metadata": map[string]any{"finalizers": []string{}}}); err != nil {
		t.Errorf("removal of the finalizer: %v", err)
	}
	if err := m.team.Get(t.Context(), client.ObjectKeyFromObject(group), group); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %v", err)
	}
}

func TestAGroupWithoutSpecIsLeftAloneUntilItHasOne(t *testing.T) {
	m := newMember(t)
	m.install(limited("small", 4, "8Gi", 5, "linux-*"))
	bare := raw("bare", nil)
	if err := m.team.Create(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.team.Delete(context.Background(), bare) })
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "bare"}}
	if err := m.patch(group, map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}); err != nil {
		t.Errorf("a label: %v", err)
	}
	err := m.patch(group, map[string]any{"spec": map[string]any{"cpu": 1, "memory": 1, "template": "linux-12"}})
	if got, want := reason(err), `spec.replicas: Invalid value: 1: is below the minimum 2 of VmGroupPolicy "small"`; got != want {
		t.Errorf("a spec that breaks a policy: %q, want %q", got, want)
	}
	if err := m.patch(group, map[string]any{"spec": map[string]any{"cpu": 1, "memory": 1, "template": "linux-12", "replicas": 2}}); err != nil {
		t.Errorf("a spec that keeps to it: %v", err)
	}
}

func TestAnUnusablePolicyRefusesGrowthOnly(t *testing.T) {
	m := newMember(t)
	group := m.keep(newGroup(metav1.NamespaceDefault, "before", 2, 2, "linux-12", 3))
	unusable := limited("typo", 8, "8Gi", 5)
	unusable.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"not a label": "x"}}
	m.install(unusable)
	const says = `spec: Forbidden: VmGroupPolicy "typo" cannot be applied, and nothing grows until a hub administrator corrects it on the hub: `
	await.NoError(m.t, "refusal", func() error {
		err := m.team.Create(t.Context(), newGroup(metav1.NamespaceDefault, "fresh", 1, 1, "t", 1), client.DryRunAll)
		if !strings.HasPrefix(reason(err), says) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	})
	if err := m.team.Create(t.Context(), raw("bare", nil), client.DryRunAll); err != nil {
		t.Errorf("a group without spec: %v", err)
	}
	if err := m.scale(group, 4); !strings.HasPrefix(reason(err), says) {
		t.Errorf("scaling up: %v", err)
	}
	if err := m.scale(group, 2); err != nil {
		t.Errorf("scaling down: %v", err)
	}
	if err := m.patch(group, map[string]any{"spec": map[string]any{"paused": true, "cpu": 1}}); err != nil {
		t.Errorf("an edit that makes nothing grow: %v", err)
	}
}

// TestWithoutLimitsNothingIsAccepted shows the effect of a lost parameter. Kubernetes looks up the parameter before it
// evaluates match conditions, so that even the finalizer of a deleted group waits. Therefore bindings are removed before
// limits, and only the operator can delete them.
func TestWithoutLimitsNothingIsAccepted(t *testing.T) {
	m := newMember(t)
	group := newGroup(metav1.NamespaceDefault, "stays", 1, 1, "linux-12", 2)
	group.Finalizers = []string{v1alpha1.VmGroupFinalizer}
	m.keep(group)
	policies := limited("small", 4, "8Gi", 5, "linux-*")
	m.install(policies)
	if err := m.operator.Delete(t.Context(), &v1alpha1.VmGroupLimits{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LimitsName}}); err != nil {
		t.Fatal(err)
	}
	const missing = "ValidatingAdmissionPolicy 'vmgroup-operator' with binding 'vmgroup-operator' denied request: " +
		"failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
	refused := func(err error) error {
		if err == nil || !strings.Contains(err.Error(), missing) {
			return fmt.Errorf("not refused for the missing limits: %w", err)
		}
		return nil
	}
	await.NoError(m.t, "refusal of a new group", func() error {
		return refused(m.team.Create(t.Context(), newGroup(metav1.NamespaceDefault, "fresh", 1, 1, "linux-12", 2), client.DryRunAll))
	})
	if err := refused(m.scale(group, 3)); err != nil {
		t.Errorf("scaling: %v", err)
	}
	if err := m.team.Delete(t.Context(), group); err != nil {
		t.Errorf("deletion: %v", err)
	}
	release := func() error {
		return m.patch(group, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
	}
	if err := refused(release()); err != nil {
		t.Errorf("removal of the finalizer: %v", err)
	}
	m.apply(m.render(policies).Objects[:1])
	await.NoError(m.t, "removal of the finalizer once the limits are back", release)
}
