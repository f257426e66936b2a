package webhook

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The validators of the hub's own kinds judge what stands in the request. Whoever reaches their port can ask them, also with objects that
// nobody has: an API server shows no credential. So they tell nothing of Secrets, of other VCenters or of what a kubeconfig holds. Controllers
// tell that in conditions, which RBAC guards. The one exception is what a VmGroupPolicy would do; see docs/reference/ports.md.

// checkPatterns refuses patterns that no name can match.
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

// checkMemberPatterns refuses patterns that no MemberCluster's name can match.
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
