package objects

import (
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// protectionMessage is the response to users who try to change the limits in the member.
const protectionMessage = "VmGroupLimits are written by the VmGroup operator alone. Change a VmGroupPolicy on its hub instead. " +
	"If the operator has left this cluster for good, first delete ValidatingAdmissionPolicyBinding " + ProtectionName +
	" and ValidatingAdmissionPolicyBinding " + Name

// statusMessage is the response to users who try to write the status of a group.
const statusMessage = "The status of a VmGroup is written by the VmGroup operator alone: it goes by what it admitted there. " +
	"An administrator who may delete ValidatingAdmissionPolicyBinding " + ProtectionName + " may write it as well"

// protectionPolicy allows only writers to write VmGroupLimits. It allows only the operator, with its own usernames, to write the status of groups. Admission
// policies cannot protect admission policies: RBAC controls who can write those. A user who can delete this policy is not kept from what it protects.
func protectionPolicy(operator, writers []string) *admissionv1.ValidatingAdmissionPolicy {
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: ProtectionName, Labels: managed()},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: matching(
				rule("vmgrouplimits", admissionv1.Create, admissionv1.Update, admissionv1.Delete),
				rule("vmgroups/status", admissionv1.Update)),
			Validations: []admissionv1.Validation{{
				Expression: "request.resource.resource != 'vmgrouplimits' || request.userInfo.username in " + listOf(writers),
				Message:    protectionMessage,
				Reason:     ptr.To(metav1.StatusReasonForbidden),
			}, {
				Expression: "request.resource.resource != 'vmgroups' || request.userInfo.username in " + listOf(operator) +
					" || authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicybindings').name('" +
					ProtectionName + "').check('delete').allowed()",
				Message: statusMessage,
				Reason:  ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
}

// listOf returns a list of strings as an expression. Usernames come from the member and from certificates, so every character that could end the string is
// escaped.
func listOf(values []string) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = quote(value)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote returns a string literal of the Common Expression Language.
func quote(value string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range strings.ToValidUTF8(value, "�") {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteString(`\x`)
			b.WriteByte("0123456789abcdef"[r>>4&0xf])
			b.WriteByte("0123456789abcdef"[r&0xf])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('\'')
	return b.String()
}
