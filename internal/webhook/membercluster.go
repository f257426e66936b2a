package webhook

import (
	"cmp"
	"context"
	"fmt"
	"net/url"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// memberValidator checks MemberClusters.
type memberValidator struct {
	hub
	// checkKubeconfig says why a kubeconfig is not used, without quoting it; nil where nobody checks.
	checkKubeconfig func(content []byte) error
}

var _ admission.Validator[*v1alpha1.MemberCluster] = memberValidator{}

// ValidateCreate checks a new MemberCluster.
func (v memberValidator) ValidateCreate(ctx context.Context, m *v1alpha1.MemberCluster) (admission.Warnings, error) {
	return v.check(ctx, m)
}

// ValidateUpdate checks a MemberCluster whose spec changes.
func (v memberValidator) ValidateUpdate(ctx context.Context, old, m *v1alpha1.MemberCluster) (admission.Warnings, error) {
	if m.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, m.Spec) {
		return nil, nil
	}
	return v.check(ctx, m)
}

// ValidateDelete allows.
func (v memberValidator) ValidateDelete(context.Context, *v1alpha1.MemberCluster) (admission.Warnings, error) {
	return nil, nil
}

func (v memberValidator) check(ctx context.Context, m *v1alpha1.MemberCluster) (admission.Warnings, error) {
	spec := field.NewPath("spec")
	var warn warnings
	var errs field.ErrorList
	v.checkReference(ctx, spec.Child("kubeconfigSecretRef"), m.Spec.KubeconfigSecretRef, &warn)
	v.checkReference(ctx, spec.Child("bootstrapKubeconfigSecretRef"), m.Spec.BootstrapKubeconfigSecretRef, &warn)
	if admission := m.Spec.Admission; admission != nil {
		errs = append(errs, checkAdmissionURL(spec.Child("admission", "url"), admission.URL)...)
		if admission.FailurePolicy == v1alpha1.AdmissionFail {
			warn.add("spec.admission.failurePolicy: Fail refuses every VmGroup of this member while the hub cannot be reached")
		}
	}
	return warn.result(), refuse("MemberCluster", m.Name, errs)
}

// checkReference warns about a kubeconfig that is not there or would not be used: it may be brought in any order.
func (v memberValidator) checkReference(ctx context.Context, where *field.Path, ref *v1alpha1.KubeconfigReference, warn *warnings) {
	if ref == nil {
		return
	}
	secret := v.secret(ctx, where.Child("name"), ref.Name, warn)
	if secret == nil {
		return
	}
	key := cmp.Or(ref.Key, "kubeconfig")
	content, ok := secret.Data[key]
	if !ok {
		warn.add(fmt.Sprintf("%s: Secret %q has no key %q", where.Child("key"), ref.Name, key))
		return
	}
	if v.checkKubeconfig == nil {
		return
	}
	if err := v.checkKubeconfig(content); err != nil {
		warn.add(fmt.Sprintf("%s: %v", where.Child("name"), err))
	}
}

// checkAdmissionURL refuses what an API server does not accept as the address of a webhook.
func checkAdmissionURL(where *field.Path, address string) field.ErrorList {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "":
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must be a URL of the form https://<host>[:port][/path]")}
	case u.User != nil:
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must not contain a user name or password")}
	case u.RawQuery != "" || u.Fragment != "":
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must not have a query or a fragment: API servers refuse them in webhooks")}
	}
	return nil
}
