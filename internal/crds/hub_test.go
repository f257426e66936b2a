package crds

import (
	"errors"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/config/crd"
)

func TestACRDOfSomebodyElseIsLeftAlone(t *testing.T) {
	wanted := crd.VmGroupCRD()
	var refused *RefusedError
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"another kind":  func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.Kind = "VirtualMachineGroup" },
		"another scope": func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Scope = apiextensionsv1.ClusterScoped },
		"a newer one that serves something else": func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Annotations[crd.VersionAnnotation], c.Spec.Versions[0].Name = "99", "v2"
		},
	} {
		installed := crd.VmGroupCRD()
		change(installed)
		if said, err := outcome(installed, wanted); !errors.As(err, &refused) {
			t.Errorf("%s: it is replaced (%s), error %v", name, said, err)
		}
	}
}
