package webhook

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hub is what the validators of the hub's own kinds read. Those are conveniences: whoever may write these kinds is a
// platform owner, and the controllers report the same in conditions. So what cannot be read is not a reason to refuse.
type hub struct {
	reader    client.Reader
	namespace string
}

// secret returns a Secret of the operator's namespace. It warns and returns nil when there is none, and returns nil
// without a word when that is not known.
func (h hub) secret(ctx context.Context, where *field.Path, name string, warn *warnings) *corev1.Secret {
	var secret corev1.Secret
	err := h.reader.Get(ctx, types.NamespacedName{Namespace: h.namespace, Name: name}, &secret)
	if apierrors.IsNotFound(err) {
		warn.add(fmt.Sprintf("%s: Secret %q does not exist in namespace %q yet; create it", where, name, h.namespace))
	}
	if err != nil {
		return nil
	}
	return &secret
}

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
