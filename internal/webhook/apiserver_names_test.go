//go:build unix && !fast

package webhook

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// refilled replaces a manifest that omits memory, after a change of the default.
func (c *cluster) refilled(w *changingKnowledge) {
	manifest := func() *unstructured.Unstructured {
		return written("refilled", map[string]any{"cpu": int64(1), "template": "linux-12"})
	}
	g := manifest()
	c.create(g)
	larger := policyNamed("default", defaultPolicy())
	larger.Spec.Defaults.Memory = 8
	w.set(policy.Compile([]v1alpha1.VmGroupPolicy{larger}))
	defer w.set(policy.Compile([]v1alpha1.VmGroupPolicy{policyNamed("default", defaultPolicy())}))
	for memory, want := range map[int64]string{
		0: `spec.memory is left out and becomes 8, today's default of VmGroupPolicy "default"; it was 4. Write the value that you want.`,
		8: "",
	} {
		again := manifest()
		again.SetResourceVersion(g.GetResourceVersion())
		if memory != 0 {
			if err := unstructured.SetNestedField(again.Object, memory, "spec", "memory"); err != nil {
				c.t.Fatal(err)
			}
		}
		c.warned()
		if err := c.Update(c.t.Context(), again, client.DryRunAll); err != nil {
			c.t.Fatal(err)
		}
		got := slices.DeleteFunc(c.warned(), func(warning string) bool { return !strings.Contains(warning, "left out") })
		if strings.Join(got, "\n") != want {
			c.t.Errorf("memory %d: warned %q, want %q", memory, got, want)
		}
	}
}

// hostnames has the schema answer as the hub does; groups that were stored before these rules existed can be edited as
// before. The hub gets no request.
func (c *cluster) hostnames() {
	rules := func(set func(of *apiextensionsv1.JSONSchemaProps)) {
		await.NoError(c.t, "the CRD to be written", func() error {
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(c.t.Context(), client.ObjectKey{Name: "vmgroups." + v1alpha1.GroupVersion.Group}, definition); err != nil {
				return err
			}
			set(definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
			return c.Update(c.t.Context(), definition)
		})
	}
	bad := made("not.possible", func(g *v1alpha1.VmGroup) { g.Spec.Guest = &v1alpha1.Guest{Hostname: v1alpha1.GuestHostnameName} })
	var today apiextensionsv1.ValidationRules
	rules(func(of *apiextensionsv1.JSONSchemaProps) { today, of.XValidations = of.XValidations, nil })
	await.True(c.t, "the schema without rules", func() bool { return c.Create(c.t.Context(), bad.DeepCopy(), client.DryRunAll) == nil })
	cases := policytest.HostnameCases()
	stored := map[string]*v1alpha1.VmGroup{}
	for _, h := range cases {
		if old, _ := hostnameGroup(h); old != nil {
			stored[h.Story] = made(h.Name, func(g *v1alpha1.VmGroup) { g.Spec = old.Spec })
			c.create(stored[h.Story])
		}
	}
	rules(func(of *apiextensionsv1.JSONSchemaProps) { of.XValidations = today })
	await.True(c.t, "the schema with rules", func() bool { return c.Create(c.t.Context(), bad.DeepCopy(), client.DryRunAll) != nil })
	for _, h := range cases {
		old, after := hostnameGroup(h)
		var was *v1alpha1.VmGroupSpec
		var err error
		if old == nil {
			err = c.Create(c.t.Context(), made(h.Name, func(g *v1alpha1.VmGroup) { g.Spec = after.Spec }), client.DryRunAll)
		} else {
			g := stored[h.Story].DeepCopy()
			g.Spec, was = after.Spec, &old.Spec
			err = c.Update(c.t.Context(), g, client.DryRunAll)
		}
		want := plan.RefusedHostname(h.Name, was, after.Spec)
		switch {
		case want == "" && err != nil:
			c.t.Errorf("%s: refused: %v", h.Story, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), "spec.guest.hostname: ") || !strings.Contains(err.Error(), want)):
			c.t.Errorf("%s: the answer is %v, want one of the schema with %q", h.Story, err, want)
		}
	}
}
