package logsink

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Ways in which a whole vCenter, member or hub fails. One outage makes many operations fail, so all its lines have one cause, whatever their text.
const (
	wayUnreachable = "unreachable"
	wayCredentials = "credentials"
	wayCertificate = "certificate"
)

// wayOf returns the way in which an operation failed. Failures without an outage differ by the operation and by the reason of the line.
func wayOf(err error, name, message, reason string) string {
	if way := outage(err); way != "" {
		return way
	}
	switch reason {
	case v1alpha1.ReasonUnreachable, v1alpha1.ReasonVCenterUnreachable, v1alpha1.ReasonMemberUnreachable:
		return wayUnreachable
	case v1alpha1.ReasonInvalidLogin, v1alpha1.ReasonUnauthorized:
		return wayCredentials
	case v1alpha1.ReasonCertificateRefused:
		return wayCertificate
	}
	return name + "\n" + message + "\n" + reason
}

// outage returns the way in which a whole server fails, or "".
func outage(err error) string {
	if err == nil {
		return ""
	}
	var ofVCenter *vsphere.Error
	if errors.As(err, &ofVCenter) {
		switch ofVCenter.Kind {
		case vsphere.KindTransient:
			return wayUnreachable
		case vsphere.KindCredentials:
			return wayCredentials
		case vsphere.KindCertificate:
			return wayCertificate
		}
		return ""
	}
	var (
		verification *tls.CertificateVerificationError
		network      net.Error
		number       syscall.Errno
	)
	switch {
	case apierrors.IsUnauthorized(err):
		return wayCredentials
	case errors.As(err, &verification):
		return wayCertificate
	case apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err),
		errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network), errors.As(err, &number):
		return wayUnreachable
	}
	return ""
}
