package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Problem is the fault of a member, as text for its Ready condition. Messages hold nothing that changes from attempt to
// attempt (ports, times), so that a lasting problem is written once.
type Problem struct {
	// Reason and Message of the condition.
	Reason, Message string
	// Lasting problems are not of the network: a user must resolve them, so they are checked at a fixed interval and not with
	// growing pauses.
	Lasting bool
	// Waiting means that this replica waits for the leader, which has not acted yet.
	Waiting bool
	// Cause is for the log; nil if the message is complete.
	Cause error
}

// maxError bounds the text of a problem, in bytes.
const maxError = 2048

// Error is the message with its cause, as untrusted.Text returns them: the member's API server can have written the cause.
func (p *Problem) Error() string {
	if p.Cause == nil {
		return untrusted.Text(p.Message, maxError)
	}
	return untrusted.Text(p.Message+": "+p.Cause.Error(), maxError)
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// AsProblem returns the problem in err, and classifies any other error as one of reaching host.
func AsProblem(host string, err error) *Problem {
	var known *Problem
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, ErrNotLeading) {
		return WaitForLeader(err)
	}
	return Classify(host, err)
}

// WaitForLeader is the state of a member that the leader has not claimed or equipped yet. A new leader can write it into
// status before it has acted; so it counts as connecting.
func WaitForLeader(err error) *Problem {
	return &Problem{Reason: v1alpha1.ReasonConnecting, Waiting: true, Cause: err,
		Message: "The member is not claimed or not equipped yet; the replica that leads does that."}
}

// Classify returns a stable sentence with the reason why a request to host failed. It reads types only, never error text.
func Classify(host string, err error) *Problem {
	unreachable := func(format string, args ...any) *Problem {
		return &Problem{Reason: v1alpha1.ReasonMemberUnreachable, Message: fmt.Sprintf(format, args...), Cause: err}
	}
	if refused := refusedProblem(host, err); refused != nil {
		return refused
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return classifyStatus(host, status, err)
	}
	var (
		verification *tls.CertificateVerificationError
		alert        tls.AlertError
		record       tls.RecordHeaderError
		resolve      *net.DNSError
		network      net.Error
	)
	switch {
	case errors.As(err, &verification):
		return unreachable("The certificate of %s is not trusted (%s). Check certificate-authority-data and "+
			"tls-server-name in the kubeconfig.", host, certificateProblem(verification.Err))
	case errors.As(err, &alert):
		return unreachable("%s ended the TLS handshake. Check the client certificate in the kubeconfig.", host)
	case errors.As(err, &record):
		return unreachable("%s does not speak TLS. Check the server and its port in the kubeconfig.", host)
	case errors.As(err, &resolve):
		return unreachable("The host name of %s cannot be resolved. Check the server in the kubeconfig and DNS.", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable("%s refuses connections. Check that the member's API server runs.", host)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return unreachable("There is no route to %s. Check the network between hub and member.", host)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return unreachable("%s does not answer in time. Check the member's API server, and firewalls and load "+
			"balancers in between.", host)
	}
	return unreachable("%s cannot be reached; the connection broke. Check the member's API server, and its address in "+
		"the kubeconfig; the operator's log holds the error.", host)
}

// RenewRoles describes how a member gets the roles that this version of the operator needs.
const RenewRoles = "Give the member the roles of this version: kubectl apply -k config/member, or config/local-member where the member is the hub itself."

func classifyStatus(host string, status apierrors.APIStatus, err error) *Problem {
	answer := untrusted.Text(status.Status().Message, 300)
	switch {
	case apierrors.IsUnauthorized(err):
		return &Problem{Reason: v1alpha1.ReasonUnauthorized, Cause: err, Message: fmt.Sprintf(
			"%s does not accept the operator's credentials. Condition CredentialsValid names the remedy.", host)}
	case apierrors.IsForbidden(err):
		return &Problem{Reason: v1alpha1.ReasonUnauthorized, Cause: err, Message: fmt.Sprintf(
			"%s forbids what the operator needs: %s. %s", host, answer, RenewRoles)}
	}
	return &Problem{Reason: v1alpha1.ReasonMemberUnreachable, Cause: err, Message: fmt.Sprintf(
		"%s answers with an error: %s (%d).", host, untrusted.Text(string(status.Status().Reason), 64), status.Status().Code)}
}

func certificateProblem(err error) string {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return "unknown authority"
	case errors.As(err, &host):
		return "it is for another host name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "expired or not yet valid"
	}
	return "verification failed"
}

// Answered reports whether err is an API server's answer to one request, which other requests do not necessarily get. An
// API server that does not accept the credentials gives no other.
func Answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !apierrors.IsUnauthorized(err)
}

// AnswerOf is the API server's answer, as untrusted.Text returns it.
func AnswerOf(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return untrusted.Text(status.Status().Message, 400)
	}
	return untrusted.Text(err.Error(), 400)
}
