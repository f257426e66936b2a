//go:build unix && !fast

package objects

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// confirm confirms the deletion of an object by this UID.
func (m *member) confirm(object client.Object, uid types.UID) {
	m.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ConfirmDeletionAnnotation, uid)
	if uid == "" {
		patch = fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.ConfirmDeletionAnnotation)
	}
	copied, _ := object.DeepCopyObject().(client.Object)
	if err := m.team.Patch(m.t.Context(), copied, client.RawPatch(types.MergePatchType, patch)); err != nil {
		m.t.Fatal(err)
	}
}

// denied fails unless err is a refusal that contains these words.
func (m *member) denied(what string, err error, words ...string) {
	m.t.Helper()
	if !apierrors.IsForbidden(err) {
		m.t.Errorf("%s: %v, want a refusal", what, err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			m.t.Errorf("%s: the refusal does not say %q: %v", what, word, err)
		}
	}
}

// untilDenied waits for the refusal: an API server observes policies and parameters a moment later.
func (m *member) untilDenied(what string, try func() error, words ...string) {
	m.t.Helper()
	await.NoError(m.t, what+" to be refused", func() error {
		if err := try(); !apierrors.IsForbidden(err) {
			return fmt.Errorf("it may be deleted: %w", err)
		}
		return nil
	})
	m.denied(what, try(), words...)
}

// protected makes a group with our finalizer that the end of the test removes.
func (m *member) protected(namespace, name string, protection v1alpha1.DeletionProtection) *v1alpha1.VmGroup {
	m.t.Helper()
	group := newGroup(namespace, name, 1, 1, "linux-1", 1)
	group.Spec.DeletionProtection = protection
	group.Finalizers = []string{v1alpha1.VmGroupFinalizer}
	if err := m.team.Create(m.t.Context(), group); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		for _, patch := range []string{`{"spec":{"deletionProtection":null}}`, `{"metadata":{"finalizers":null}}`} {
			_ = m.operator.Patch(context.Background(), group.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
		}
		_ = m.operator.Delete(context.Background(), group)
	})
	return group
}

func (m *member) unprotect(group *v1alpha1.VmGroup) error {
	return m.team.Patch(m.t.Context(), group.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionProtection":"Disabled"}}`)))
}

// TestDeletionsAreGuarded installs the guards once, since an API server enforces a policy only after a while.
func TestDeletionsAreGuarded(t *testing.T) {
	m := newMember(t)
	m.becomesHub()
	m.install()
	for name, story := range map[string]func(*testing.T, *member){
		"our CRDs are deleted only when that is confirmed":                                          crdsAreGuarded,
		"a protected group is deleted only when protection is taken off or its namespace confirmed": groupsAreGuarded,
		"a namespace with protected groups is deleted only when that is confirmed":                  namespacesAreGuarded,
		"a hub deletes what is in use only when that is confirmed":                                  hubIsGuarded,
	} {
		t.Run(name, func(t *testing.T) {
			on := *m
			on.t = t
			story(t, &on)
		})
	}
}

func crdsAreGuarded(t *testing.T, m *member) {
	other := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "others.example.test", Labels: map[string]string{"which": "other"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.test", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "others", Kind: "Other"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}},
		},
	}
	if err := m.team.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	for _, definition := range crd.Member() {
		remove := func() error { return m.team.Delete(t.Context(), definition.DeepCopy(), client.DryRunAll) }
		m.untilDenied(definition.Name, remove)
		if err := m.team.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			t.Fatal(err)
		}
		command := fmt.Sprintf("kubectl annotate crd %s --overwrite %s=%s", definition.Name, v1alpha1.ConfirmDeletionAnnotation, definition.UID)
		m.denied(definition.Name, remove(), command)
		m.denied(definition.Name+" by the operator", m.operator.Delete(t.Context(), definition.DeepCopy(), client.DryRunAll), command)
		m.denied(definition.Name+" with all others", m.team.DeleteAllOf(t.Context(), &apiextensionsv1.CustomResourceDefinition{}, client.DryRunAll), "kubectl annotate crd")
		m.confirm(definition, other.UID)
		m.denied(definition.Name+" with the UID of another", remove(), command)
		m.confirm(definition, definition.UID)
		await.NoError(t, definition.Name+" after the confirmation", remove)
		m.confirm(definition, "")
	}
	if err := m.team.Delete(t.Context(), other); err != nil {
		t.Errorf("a CRD that is not ours: %v", err)
	}
}

func groupsAreGuarded(t *testing.T, m *member) {
	m.namespace("protected", nil)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "protected"}}
	group := m.protected("protected", "web", v1alpha1.DeletionProtectionEnabled)
	remove := func(g *v1alpha1.VmGroup) error { return m.team.Delete(t.Context(), g.DeepCopy(), client.DryRunAll) }
	m.untilDenied("the group", func() error { return remove(group) })
	if err := m.team.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	says := []string{
		`kubectl patch vmgroup web -n protected --type=merge -p '{"spec":{"deletionProtection":"Disabled"}}'`,
		fmt.Sprintf("kubectl annotate namespace protected --overwrite %s=%s", v1alpha1.ConfirmDeletionAnnotation, namespace.UID),
	}
	m.denied("the group", remove(group), says...)
	m.denied("all groups", m.team.DeleteAllOf(t.Context(), &v1alpha1.VmGroup{}, client.InNamespace("protected"), client.DryRunAll), says...)
	for _, other := range []*v1alpha1.VmGroup{
		m.protected("protected", "default", ""), m.protected("protected", "disabled", v1alpha1.DeletionProtectionDisabled),
	} {
		if err := m.team.Delete(t.Context(), other); err != nil {
			t.Errorf("%s: %v", other.Name, err)
		}
		// An object that is being deleted can be protected too late, and deleted again; and the operator removes its
		// finalizer.
		protect := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deletionProtection":"Enabled"}}`))
		if err := m.team.Patch(t.Context(), other.DeepCopy(), protect); err != nil {
			t.Errorf("protect %s while it is deleted: %v", other.Name, err)
		}
		if err := m.team.Delete(t.Context(), other.DeepCopy()); err != nil {
			t.Errorf("delete %s again: %v", other.Name, err)
		}
		if err := m.operator.Patch(t.Context(), other.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Errorf("the finalizer of %s: %v", other.Name, err)
		}
	}
	m.confirm(group, group.UID)
	m.denied("the group with its own UID", remove(group), says...)
	m.confirm(namespace, group.UID)
	m.denied("the group with its UID on the namespace", remove(group), says...)
	m.confirm(namespace, namespace.UID)
	await.NoError(t, "the group in a confirmed namespace", func() error { return remove(group) })
	m.confirm(namespace, "")
	m.untilDenied("the group", func() error { return remove(group) })
	if err := m.unprotect(group); err != nil {
		t.Fatal(err)
	}
	if err := remove(group); err != nil {
		t.Errorf("the group without protection: %v", err)
	}
}

func namespacesAreGuarded(t *testing.T, m *member) {
	namespaces := map[string]*corev1.Namespace{}
	for _, name := range []string{"guarded", "unguarded", "without"} {
		m.namespace(name, nil)
		namespaces[name] = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := m.team.Get(t.Context(), client.ObjectKey{Name: name}, namespaces[name]); err != nil {
			t.Fatal(err)
		}
	}
	protected := m.protected("guarded", "web", v1alpha1.DeletionProtectionEnabled)
	m.protected("guarded", "another", v1alpha1.DeletionProtectionDisabled)
	m.protected("unguarded", "web", v1alpha1.DeletionProtectionDisabled)
	guarded := namespaces["guarded"]
	remove := func(n *corev1.Namespace) error { return m.team.Delete(t.Context(), n.DeepCopy(), client.DryRunAll) }
	command := fmt.Sprintf("kubectl annotate namespace guarded --overwrite %s=%s", v1alpha1.ConfirmDeletionAnnotation, guarded.UID)
	m.untilDenied("the namespace", func() error { return remove(guarded) }, command, "VmGroup web has spec.deletionProtection Enabled")
	for _, name := range []string{"unguarded", "without"} {
		if err := remove(namespaces[name]); err != nil {
			t.Errorf("a namespace without protected groups: %v", err)
		}
	}
	m.confirm(guarded, namespaces["without"].UID)
	m.denied("the namespace with another's UID", remove(guarded), command)
	m.confirm(guarded, guarded.UID)
	await.NoError(t, "the confirmed namespace", func() error { return remove(guarded) })
	m.confirm(guarded, "")
	m.untilDenied("the namespace that is not confirmed any more", func() error { return remove(guarded) }, command)

	// Limits do not matter here: neither guard depends on data from a hub.
	if err := m.operator.Delete(t.Context(), &v1alpha1.VmGroupLimits{ObjectMeta: metav1.ObjectMeta{Name: Name}}); err != nil {
		t.Fatal(err)
	}
	m.denied("the namespace without limits", remove(guarded), command)
	m.denied("the group without limits", m.team.Delete(t.Context(), protected, client.DryRunAll), "web")
	m.apply(m.render().Objects[:1])
	await.NoError(t, "the group to be written again", func() error { return m.unprotect(protected) })
	await.NoError(t, "the namespace without protected groups", func() error { return remove(guarded) })
}
