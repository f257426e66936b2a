package member

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// problem is why a member is not as it should be, in the words of its Ready condition. Messages hold nothing
// that changes from attempt to attempt (ports, times), so that a lasting problem is written once.
type problem struct {
	reason  string
	message string
	// lasting problems are not of the network: somebody has to change something, so they are looked at again
	// at a steady pace and not with growing pauses.
	lasting bool
	// waiting is not of this replica's doing: the one that leads has not been here yet.
	waiting bool
	cause   error
}

func (p *problem) Error() string {
	if p.cause == nil {
		return p.message
	}
	return p.message + ": " + p.cause.Error()
}

func (p *problem) Unwrap() error { return p.cause }

// asProblem returns the problem in err, classifying any other error as one of reaching host.
func asProblem(host string, err error) *problem {
	var known *problem
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, errNotLeading) {
		return waitForLeader(err)
	}
	return classify(host, err)
}

// waitForLeader is the state of a member that the leader has not claimed or equipped yet. A new leader may write it
// into status before it has acted; so it counts as connecting.
func waitForLeader(err error) *problem {
	return &problem{reason: v1alpha1.ReasonConnecting, waiting: true, cause: err,
		message: "The member is not claimed or not equipped yet; the replica that leads does that."}
}

// classify says in a stable sentence why a request to host failed. It reads types only, never error text.
func classify(host string, err error) *problem {
	unreachable := func(format string, args ...any) *problem {
		return &problem{reason: v1alpha1.ReasonMemberUnreachable, message: fmt.Sprintf(format, args...), cause: err}
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

func classifyStatus(host string, status apierrors.APIStatus, err error) *problem {
	answer := shorten(status.Status().Message, 300)
	switch {
	case apierrors.IsUnauthorized(err):
		return &problem{reason: v1alpha1.ReasonUnauthorized, cause: err, message: fmt.Sprintf(
			"%s does not accept the credentials in the kubeconfig. Renew the Secret; it is picked up at once.", host)}
	case apierrors.IsForbidden(err):
		return &problem{reason: v1alpha1.ReasonUnauthorized, cause: err, message: fmt.Sprintf(
			"%s forbids what the operator needs: %s. Apply config/member to the member, or config/local-member where the member is the hub itself.", host, answer)}
	}
	return &problem{reason: v1alpha1.ReasonMemberUnreachable, cause: err, message: fmt.Sprintf(
		"%s answers with an error: %s (%d).", host, status.Status().Reason, status.Status().Code)}
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

// shorten cuts text from a member, which is not trusted to be short, at a rune's boundary.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
