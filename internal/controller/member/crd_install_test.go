//go:build unix && !fast

package member

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// originalCRD is the original operator's, as far as upgrades need it: its names, no version, one loose
// schema.
func originalCRD() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: crd.VmGroupName, Annotations: map[string]string{"controller-gen.kubebuilder.io/version": "v0.2.5", "team": "x"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: v1alpha1.GroupVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: "VmGroup", ListKind: "VmGroupList", Plural: "vmgroups", Singular: "vmgroup", ShortNames: []string{"vg"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Old", Type: "string", JSONPath: ".spec.old"}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
}

// removeCRD removes the CRD, and with it all VmGroups, of a member.
func removeCRD(t *testing.T, member client.Client) {
	t.Helper()
	err := member.Delete(t.Context(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.VmGroupName}})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	await.NoError(t, "removal of the CRD", func() error {
		left, err := crds.Get(t.Context(), member, crd.VmGroupName)
		if err == nil && left != nil {
			err = errors.New("still there")
		}
		return err
	})
}

func TestCRDIsUpgradedAndNeverDowngraded(t *testing.T) {
	servers := clustersForTest(t)
	member := directClient(t, servers.alpha.Config)
	in := installed(t, servers.hub, "crds", nil)
	least, _ := grant(t, servers.alpha, "crds")
	installed := func() *apiextensionsv1.CustomResourceDefinition {
		t.Helper()
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := member.Get(t.Context(), client.ObjectKey{Name: crd.VmGroupName}, definition); err != nil {
			t.Fatalf("CRD: %v", err)
		}
		return definition
	}

	removeCRD(t, member)
	if err := member.Create(t.Context(), originalCRD()); err != nil {
		t.Fatal(err)
	}
	in.join("alpha", least)
	if status := in.awaitEngaged("alpha").Status; status.CRDVersion != strconv.Itoa(crd.Version) {
		t.Errorf("crdVersion = %q", status.CRDVersion)
	}
	upgraded := installed()
	if upgraded.Annotations["team"] != "x" || upgraded.Annotations[crd.VersionAnnotation] != strconv.Itoa(crd.Version) {
		t.Errorf("annotations = %v", upgraded.Annotations)
	}
	for _, column := range upgraded.Spec.Versions[0].AdditionalPrinterColumns {
		if column.Name == "Old" {
			t.Error("a column of the original outlived the upgrade")
		}
	}

	in.leave("alpha")
	in.join("alpha", nil)
	in.awaitEngaged("alpha")
	if again := installed(); again.ResourceVersion != upgraded.ResourceVersion {
		t.Error("an unchanged CRD was written")
	}
	in.leave("alpha")

	newer := installed()
	newer.Annotations[crd.VersionAnnotation] = "99"
	newer.Spec.Versions[0].AdditionalPrinterColumns = append(newer.Spec.Versions[0].AdditionalPrinterColumns,
		apiextensionsv1.CustomResourceColumnDefinition{Name: "Future", Type: "string", JSONPath: ".spec.template"})
	if err := member.Update(t.Context(), newer); err != nil {
		t.Fatal(err)
	}
	in.join("alpha", nil)
	mc := in.awaitEngaged("alpha")
	condition := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCRDInstalled)
	if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != v1alpha1.ReasonCRDNewer || mc.Status.CRDVersion != "99" {
		t.Errorf("CRDInstalled = %+v, version %q", condition, mc.Status.CRDVersion)
	}
	if kept := installed(); kept.ResourceVersion != newer.ResourceVersion {
		t.Error("a newer CRD was written")
	}
	in.leave("alpha")

	removeCRD(t, member)
	in.join("alpha", nil, func(mc *v1alpha1.MemberCluster) { mc.Spec.Manage = v1alpha1.ManageNone })
	in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonCRDMissing)
	if _, ok := in.opts.Fleet.Member("alpha"); ok {
		t.Error("a member without the CRD is engaged")
	}
	if err := member.Create(t.Context(), originalCRD()); err != nil {
		t.Fatal(err)
	}
	if status := in.awaitEngaged("alpha").Status; status.CRDVersion != "unversioned" {
		t.Errorf("crdVersion = %q", status.CRDVersion)
	}
	in.edit("alpha", func(mc *v1alpha1.MemberCluster) { mc.Spec.Manage = v1alpha1.ManageCRDsAndAdmission })
	await.NoError(t, "the CRD to be taken over", func() error {
		if version := in.get("alpha").Status.CRDVersion; version != strconv.Itoa(crd.Version) {
			return fmt.Errorf("crdVersion %q", version)
		}
		return nil
	})
	in.awaitEngaged("alpha")
}
