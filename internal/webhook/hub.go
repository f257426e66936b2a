package webhook

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The validators of the hub's own kinds check only the content of the request. Requests are not authenticated, because an API server sends no
// credential: any client that reaches the port can send one, even for objects that do not exist. So the validators reveal nothing about
// Secrets, other VCenters or kubeconfigs. Controllers report those in conditions, which RBAC protects. The one exception is the effect of a
// VmGroupPolicy; see docs/reference/ports.md.

// checkPatterns refuses patterns that match no name.
func checkPatterns(where *field.Path, patterns []string) field.ErrorList {
	var errs field.ErrorList
	for i, pattern := range patterns {
		switch {
		case pattern == "":
			errs = append(errs, field.Invalid(where.Index(i), pattern, "an empty pattern matches nothing; write * for everything"))
		case strings.TrimSpace(pattern) != pattern:
			errs = append(errs, field.Invalid(where.Index(i), pattern, "begins or ends with a space, so it matches nothing"))
		}
	}
	return errs
}

// checkMemberPatterns refuses patterns that match no MemberCluster's name.
func checkMemberPatterns(where *field.Path, patterns []string) field.ErrorList {
	errs := checkPatterns(where, patterns)
	for i, pattern := range patterns {
		if strings.ToLower(pattern) != pattern {
			errs = append(errs, field.Invalid(where.Index(i), pattern, "has capital letters, which no MemberCluster's name has"))
		}
	}
	return errs
}

func checkSelector(where *field.Path, selector *metav1.LabelSelector) field.ErrorList {
	if selector == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, where)
}
