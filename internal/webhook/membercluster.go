package webhook

import (
	"context"
	"net/url"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

type memberValidator struct{}

var _ admission.Validator[*v1alpha1.MemberCluster] = memberValidator{}

// ValidateCreate checks a new MemberCluster.
func (v memberValidator) ValidateCreate(_ context.Context, m *v1alpha1.MemberCluster) (admission.Warnings, error) {
	return v.check(m)
}

// ValidateUpdate checks a MemberCluster whose spec changes.
func (v memberValidator) ValidateUpdate(_ context.Context, old, m *v1alpha1.MemberCluster) (admission.Warnings, error) {
	if m.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, m.Spec) {
		return nil, nil
	}
	return v.check(m)
}

// ValidateDelete allows every deletion.
func (v memberValidator) ValidateDelete(context.Context, *v1alpha1.MemberCluster) (admission.Warnings, error) {
	return nil, nil
}

func (v memberValidator) check(m *v1alpha1.MemberCluster) (admission.Warnings, error) {
	spec := field.NewPath("spec")
	if err := memberSize(spec, m); err != nil {
		return nil, refuse("MemberCluster", m.Name, field.ErrorList{err})
	}
	var warn warnings
	var errs field.ErrorList
	if admission := m.Spec.Admission; admission != nil {
		errs = append(errs, checkAdmissionURL(spec.Child("admission", "url"), admission.URL)...)
		if admission.FailurePolicy == v1alpha1.AdmissionFail {
			warn.add("spec.admission.failurePolicy: Fail refuses every VmGroup of this member while the hub cannot be reached")
		}
	}
	return warn.result(), refuse("MemberCluster", m.Name, errs)
}

// checkAdmissionURL refuses addresses that an API server does not accept for a webhook.
func checkAdmissionURL(where *field.Path, address string) field.ErrorList {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "":
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must be a URL of the form https://<host>[:port]")}
	case u.User != nil:
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must not contain a user name or password")}
	case u.RawQuery != "" || u.Fragment != "":
		return field.ErrorList{field.Invalid(where, field.OmitValueType{}, "must not have a query or a fragment: API servers refuse them in webhooks")}
	}
	return nil
}
