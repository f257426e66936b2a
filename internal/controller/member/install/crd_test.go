package install

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

func TestDecideCRD(t *testing.T) {
	wanted := crd.VmGroupCRD()
	wanted.Annotations[crd.VersionAnnotation] = "5"
	installed := func(change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
		result := wanted.DeepCopy()
		change(result)
		return result
	}
	version := func(v string) func(*apiextensionsv1.CustomResourceDefinition) {
		return func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations[crd.VersionAnnotation] = v }
	}
	notServed := func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Versions[0].Served = false }
	both := v1alpha1.ManageCRDsAndAdmission
	tests := []struct {
		name      string
		installed *apiextensionsv1.CustomResourceDefinition
		manage    v1alpha1.Manage
		ok        bool
		install   bool
		reason    string
	}{
		{"none", nil, both, true, true, v1alpha1.ReasonCRDInstalled},
		{"none, managed elsewhere", nil, v1alpha1.ManageNone, false, false, v1alpha1.ReasonCRDMissing},
		{"same", installed(func(*apiextensionsv1.CustomResourceDefinition) {}), both, true, false, v1alpha1.ReasonCRDInstalled},
		{"same version, other content", installed(func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations[crd.HashAnnotation] = "x" }), both, true, true, v1alpha1.ReasonCRDInstalled},
		{"older", installed(version("4")), both, true, true, v1alpha1.ReasonCRDInstalled},
		{"the original's", installed(func(d *apiextensionsv1.CustomResourceDefinition) { d.Annotations = nil }), both, true, true, v1alpha1.ReasonCRDInstalled},
		{"unreadable version", installed(version("v5")), both, true, true, v1alpha1.ReasonCRDInstalled},
		{"being deleted", installed(func(d *apiextensionsv1.CustomResourceDefinition) {
			d.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}), both, false, false, v1alpha1.ReasonCRDTerminating},
		{"newer", installed(version("6")), both, true, false, v1alpha1.ReasonCRDNewer},
		{"much newer", installed(version("10")), both, true, false, v1alpha1.ReasonCRDNewer},
		{"newer without our API version", installed(func(d *apiextensionsv1.CustomResourceDefinition) { version("6")(d); notServed(d) }), both, false, false, v1alpha1.ReasonCRDNewer},
		{"older, managed elsewhere", installed(version("1")), v1alpha1.ManageNone, true, false, v1alpha1.ReasonCRDInstalled},
		{"not served, managed elsewhere", installed(notServed), v1alpha1.ManageNone, false, false, v1alpha1.ReasonCRDMissing},
		{"another kind", installed(func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Names.Kind = "Group" }), both, false, false, v1alpha1.ReasonCRDForeign},
		{"another scope", installed(func(d *apiextensionsv1.CustomResourceDefinition) { d.Spec.Scope = apiextensionsv1.ClusterScoped }), both, false, false, v1alpha1.ReasonCRDForeign},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, install := decideCRD(test.installed, wanted, test.manage)
			if got.OK != test.ok || install != test.install || got.Reason != test.reason || got.Message == "" {
				t.Errorf("found %+v, installs %t; want OK %t, %s, installs %t", got, install, test.ok, test.reason, test.install)
			}
		})
	}
}
