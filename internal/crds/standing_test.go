package crds

import (
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

func TestStandingOf(t *testing.T) {
	wanted := crd.VmGroupCRD()
	wanted.Annotations[crd.VersionAnnotation] = "5"
	version := func(v string) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations[crd.VersionAnnotation] = v }
	}
	notServed := func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Served = false }
	if got := StandingOf(nil, wanted); got != Missing {
		t.Errorf("none: %d, want %d", got, Missing)
	}
	for _, c := range []struct {
		name   string
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   Standing
	}{
		{"the same", func(*apiextensionsv1.CustomResourceDefinition) {}, Current},
		{"other content", func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations[crd.HashAnnotation] = "x" }, Older},
		{"an older version", version("4"), Older},
		{"the original operator's", func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations = nil }, Older},
		{"an unreadable version", version("v9"), Older},
		{"a version of two digits", version("10"), Newer},
		{"newer with other content", func(d *apiextensionsv1.CustomResourceDefinition) {
			version("6")(d)
			d.Annotations[crd.HashAnnotation] = "x"
		}, Newer},
		{"newer without our API version", func(d *apiextensionsv1.CustomResourceDefinition) { version("6")(d); notServed(d) }, NewerUnusable},
		{"older without our API version", func(d *apiextensionsv1.CustomResourceDefinition) { version("4")(d); notServed(d) }, Older},
		{"another kind", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Kind = "Group" }, Foreign},
		{"another scope", func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Scope = apiextensionsv1.ClusterScoped }, Foreign},
		{"another kind, newer", func(d *apiextensionsv1.CustomResourceDefinition) { version("6")(d); d.Spec.Names.Kind = "Group" }, Foreign},
	} {
		installed := wanted.DeepCopy()
		c.change(installed)
		if got := StandingOf(installed, wanted); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAReplacementKeepsWhatIsNotOurs(t *testing.T) {
	wanted := crd.VmGroupCRD()
	installed := wanted.DeepCopy()
	installed.ResourceVersion = "7"
	installed.Annotations = map[string]string{"team": "x", crd.VersionAnnotation: "0"}
	installed.Labels = map[string]string{"app": "y"}
	installed.Spec.Versions = append(installed.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v0"})
	got := replacement(installed, wanted)
	if got.Annotations["team"] != "x" || got.Labels["app"] != "y" || got.ResourceVersion != "7" {
		t.Errorf("metadata = %+v", got.ObjectMeta)
	}
	if got.Annotations[crd.VersionAnnotation] != strconv.Itoa(crd.Version) || len(got.Spec.Versions) != len(wanted.Spec.Versions) {
		t.Errorf("the content is not ours: %+v", got.Annotations)
	}
	if installed.Annotations[crd.VersionAnnotation] != "0" {
		t.Error("the input was changed")
	}
}
