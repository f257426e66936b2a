package remote

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Brief returns the part of an error that can be kept. Of an API server's error this is its code, its reason, and the beginning
// of its message: it can have three megabytes of causes, which need eight times as much. Others are returned unchanged.
func Brief(err error) error {
	var answered apierrors.APIStatus
	if !errors.As(err, &answered) {
		return err
	}
	is := answered.Status()
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: is.Code, Reason: metav1.StatusReason(untrusted.Text(string(is.Reason), 64)), Message: untrusted.Text(is.Message, 400),
	}}
}
