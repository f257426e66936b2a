package main

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
)

// crdRefused says why a CRD can be neither installed nor left as it is. Trying again does not help.
type crdRefused struct{ name, why string }

func (e *crdRefused) Error() string {
	return fmt.Sprintf("CustomResourceDefinition %s %s", e.name, e.why)
}

// nextCRD returns what the hub should store in place of installed, which is nil when there is none, or nil when that is to
// stay as it is; said tells a person which. Nothing is ever downgraded: after a rollback of the operator, the fields of the
// release that was there keep their values.
func nextCRD(installed, wanted *apiextensionsv1.CustomResourceDefinition) (next *apiextensionsv1.CustomResourceDefinition, said string, err error) {
	want := crd.VersionOf(wanted)
	if installed == nil {
		return wanted.DeepCopy(), fmt.Sprintf("installed, version %d", want), nil
	}
	have := crd.VersionOf(installed)
	switch crd.StandingOf(installed, wanted) {
	case crd.Foreign:
		return nil, "", &crdRefused{wanted.Name, fmt.Sprintf("is of kind %q and scope %q, which is not this operator's; remove it if nobody needs it",
			installed.Spec.Names.Kind, installed.Spec.Scope)}
	case crd.NewerUnusable:
		return nil, "", &crdRefused{wanted.Name, fmt.Sprintf("has version %d, newer than this release's %d, and no longer serves %s; install a newer release",
			have, want, v1alpha1.GroupVersion.Version)}
	case crd.Newer:
		return nil, fmt.Sprintf("stays at version %d, newer than this release's %d", have, want), nil
	case crd.Current:
		return nil, fmt.Sprintf("is up to date, version %d", have), nil
	default:
		return crd.Replacement(installed, wanted), fmt.Sprintf("upgraded to version %d", want), nil
	}
}
