package hub

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

// outcomeOf maps an error of a request for one object to its outcome. creating is true for a request that creates the
// object.
func outcomeOf(err error, creating bool, resource, name string) protocol.Outcome {
	var answer apierrors.APIStatus
	// client-go makes a status of any response page, with the cause UnexpectedServerResponse. The sender of that page is
	// unknown: a load balancer's 404 does not mean that the shard map was deleted.
	if !errors.As(err, &answer) || apierrors.IsUnexpectedServerError(err) {
		return protocol.Unknown
	}
	status := answer.Status()
	switch code := status.Code; {
	case code == http.StatusConflict && !creating:
		return protocol.Conflict
	case code == http.StatusConflict && status.Reason == metav1.StatusReasonAlreadyExists:
		return protocol.Exists
	case code == http.StatusNotFound && !creating && isAbout(status.Details, resource, name):
		return protocol.Missing
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests:
		return protocol.Unknown
	case code >= 400 && code < 500:
		return protocol.Refused
	default:
		return protocol.Unknown
	}
}

// isAbout reports whether the object itself was not found, rather than its namespace or its API.
func isAbout(details *metav1.StatusDetails, resource, name string) bool {
	return details != nil && details.Kind == resource && details.Name == name
}
