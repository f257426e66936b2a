package webhook

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// maxMessage limits the message of a refusal, and of each of its causes, in bytes. The details list all causes.
const maxMessage = 2048

// refuse returns nil without errs, else one error that holds them all, in their order. Its message begins with the first
// cause: the API server puts the webhook's name before it, and people read the beginning.
func refuse(kind, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	causes := make([]metav1.StatusCause, 0, len(errs))
	messages := make([]string, 0, len(errs))
	for _, err := range errs {
		causes = append(causes, metav1.StatusCause{
			Type: metav1.CauseType(err.Type), Message: untrusted.Text(err.ErrorBody(), maxMessage), Field: err.Field,
		})
		messages = append(messages, err.Error())
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusUnprocessableEntity,
		Reason:  metav1.StatusReasonInvalid,
		Message: untrusted.Text(strings.Join(messages, "; "), maxMessage),
		Details: &metav1.StatusDetails{Group: v1alpha1.GroupVersion.Group, Kind: kind, Name: name, Causes: causes},
	}}
}
