package webhook

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// A changed default changes VMs whose manifest omits the field and is replaced as a whole: kubectl replace, Argo CD's Replace=true.
func TestAnUpdateThatGetsTodaysDefaultOfAPolicyIsWarned(t *testing.T) {
	const memory, template = "spec.memory is left out and becomes 4, today's default of VmGroupPolicy \"default\"; it was 2. Write the value that you want.",
		"spec.template is left out and becomes linux-12, today's default of VmGroupPolicy \"default\"; it was linux-11. Write the value that you want."
	fields := func(spec string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "kubectl", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{` + spec + `}}`)}
	}
	for _, c := range []struct {
		story   string
		old     func(*v1alpha1.VmGroupSpec)
		managed []metav1.ManagedFieldsEntry
		want    []string
	}{
		{"memory left out", func(s *v1alpha1.VmGroupSpec) { s.Memory = 2 }, []metav1.ManagedFieldsEntry{fields(`"f:cpu":{},"f:template":{}`)}, []string{memory}},
		{"memory written", func(s *v1alpha1.VmGroupSpec) { s.Memory = 2 }, []metav1.ManagedFieldsEntry{fields(`"f:cpu":{}`), fields(`"f:memory":{}`)}, nil},
		{"the same default as ever", func(*v1alpha1.VmGroupSpec) {}, []metav1.ManagedFieldsEntry{fields(`"f:cpu":{}`)}, nil},
		{"all left out", func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Memory, s.Template = 1, 2, "linux-11" }, []metav1.ManagedFieldsEntry{fields(`"f:replicas":{}`)},
			[]string{"spec.cpu is left out and becomes 2, today's default of VmGroupPolicy \"default\"; it was 1. Write the value that you want.", memory, template}},
		{"a zero that the author wrote", func(s *v1alpha1.VmGroupSpec) { s.Memory = 0 }, []metav1.ManagedFieldsEntry{fields(`"f:memory":{}`)}, nil},
		{"no managed fields are known", func(s *v1alpha1.VmGroupSpec) { s.Memory = 2 }, nil, nil},
		{"managed fields that cannot be read", func(s *v1alpha1.VmGroupSpec) { s.Memory = 2 },
			[]metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(`{"f:spec":[]}`)}, {}, fields(`"f:memory":{}`)}, nil},
	} {
		t.Run(c.story, func(t *testing.T) {
			after := aGroup(func(g *v1alpha1.VmGroup) { g.ManagedFields = c.managed })
			old := aGroup(func(g *v1alpha1.VmGroup) { g.Spec.Paused = true; c.old(&g.Spec) })
			k := knowledgeWith(policyNamed("default", defaultPolicy()))
			k.groups = map[string]*v1alpha1.VmGroup{old.Namespace + "/" + old.Name: old}
			response := serve(t, k, nil).ask(ValidatePath(testMember, testSegment), requestFor(t, old, after))
			if !response.Allowed {
				t.Fatalf("refused: %+v", response.Result)
			}
			var got []string
			for _, warning := range response.Warnings {
				if strings.Contains(warning, "left out") {
					got = append(got, warning)
				}
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("warned\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
