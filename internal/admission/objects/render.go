package objects

import (
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Render returns the objects of a member. It fails with [ErrNoIdentity], or if a part of the input cannot be encoded.
func Render(in Input) (Bundle, error) {
	if len(in.Exempt) == 0 {
		return Bundle{}, ErrNoIdentity
	}
	in.Exempt = distinct(in.Exempt)
	// Protected objects come before the policies that protect them, and parameters before their bindings.
	typed := []runtime.Object{
		&v1alpha1.VmGroupLimits{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "VmGroupLimits"},
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LimitsName, Labels: managed()},
			Spec:       in.Limits,
		},
		protectionPolicy(in.Exempt, distinct(slices.Concat(in.Exempt, in.Writers))), limitsPolicy(),
	}
	if in.ServesMutatingPolicies {
		typed = append(typed, defaultsPolicy())
	}
	typed = append(typed, bindingTo(ProtectionName), bindingToLimits(Name))
	if in.ServesMutatingPolicies {
		typed = append(typed, defaultsBinding())
	}
	bundle := Bundle{}
	calls, why := newWebhooks(in)
	if calls != nil {
		typed = append(typed, calls.mutating(), calls.validating())
		bundle.CABundleHash = BundleHash(in.CABundle)
	}
	bundle.NoWebhook = why
	typed = append(typed, deletionPolicy(), namespacesPolicy(),
		bindingTo(DeletionName), bindingToGroups(NamespacesName))
	for _, object := range typed {
		plain, err := encode(object)
		if err != nil {
			return Bundle{}, err
		}
		bundle.Objects = append(bundle.Objects, plain)
	}
	return bundle, nil
}

// distinct sorts usernames and removes duplicates, so that their order does not matter.
func distinct(usernames []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(usernames)))
}

// encode turns object into the content of a server-side apply: only fields that have a value, with the object's kind.
func encode(object runtime.Object) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", object, err)
	}
	content := map[string]any{}
	if err := json.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("encode a %T: %w", object, err)
	}
	plain := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(content, "status")
	if plain.GetKind() == "" {
		kind, err := kindOf(object)
		if err != nil {
			return nil, err
		}
		plain.SetAPIVersion(admissionv1.SchemeGroupVersion.String())
		plain.SetKind(kind)
	}
	return plain, nil
}

func kindOf(object runtime.Object) (string, error) {
	switch object.(type) {
	case *admissionv1.ValidatingAdmissionPolicy:
		return "ValidatingAdmissionPolicy", nil
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return "ValidatingAdmissionPolicyBinding", nil
	case *admissionv1.MutatingAdmissionPolicy:
		return "MutatingAdmissionPolicy", nil
	case *admissionv1.MutatingAdmissionPolicyBinding:
		return "MutatingAdmissionPolicyBinding", nil
	case *admissionv1.MutatingWebhookConfiguration:
		return "MutatingWebhookConfiguration", nil
	case *admissionv1.ValidatingWebhookConfiguration:
		return "ValidatingWebhookConfiguration", nil
	}
	return "", fmt.Errorf("encode a %T: unknown kind", object)
}
