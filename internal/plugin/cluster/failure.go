package cluster

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Exit codes of the plugin.
const (
	// ExitNotWell: the command ran, and its answer is that something is not well.
	ExitNotWell = 1
	// ExitUsage: the arguments, or the state of the clusters, do not allow what was asked for.
	ExitUsage = 2
	// ExitUnreachable: a cluster cannot be reached, or does not allow the request.
	ExitUnreachable = 3
)

// longest is the number of bytes of a foreign text in a sentence.
const longest = 400

// Failure ends a command. Its sentence is for the person who ran it.
type Failure struct {
	// Code is the exit code of the process.
	Code int
	// Sentence names the problem, the object, and the remedy.
	Sentence string
	cause    error
}

// Error returns the sentence.
func (f *Failure) Error() string { return f.Sentence }

// Unwrap returns the error that caused the failure, or nil.
func (f *Failure) Unwrap() error { return f.cause }

// Usage returns a failure with [ExitUsage].
func Usage(format string, args ...any) *Failure {
	return &Failure{Code: ExitUsage, Sentence: fmt.Sprintf(format, args...)}
}

// NotWell returns a failure with [ExitNotWell].
func NotWell(format string, args ...any) *Failure {
	return &Failure{Code: ExitNotWell, Sentence: fmt.Sprintf(format, args...)}
}

// Explain returns the failure of a request to the server of a context. Answers are foreign text.
func Explain(name, server string, err error) error {
	var known *Failure
	if err == nil || errors.As(err, &known) {
		return err
	}
	said, code := untrusted.Text(err.Error(), longest), ExitUnreachable
	sentence := fmt.Sprintf("The cluster of context %q (%s) answers: %s", name, server, said)
	var authority x509.UnknownAuthorityError
	var dial *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		sentence = "Interrupted."
	case errors.As(err, &authority):
		sentence = fmt.Sprintf("The certificate of %s is signed by an authority that context %q does not trust. Set certificate-authority-data of its cluster in the kubeconfig.", server, name)
	case apierrors.IsUnauthorized(err):
		sentence = fmt.Sprintf("The cluster of context %q (%s) does not accept the credential of this context. Log in again, or use another context.", name, server)
	case apierrors.IsNotFound(err):
		code = ExitUsage
	case apierrors.IsForbidden(err):
		sentence = fmt.Sprintf("The user of context %q lacks a right: %s", name, said)
	case errors.As(err, &dial), errors.Is(err, context.DeadlineExceeded), strings.HasPrefix(server, "http://"):
		sentence = fmt.Sprintf("The cluster of context %q cannot be reached at %s: %s", name, server, said)
	}
	return &Failure{Code: code, Sentence: sentence, cause: err}
}

// Scheme has the kinds that the plugin reads and writes.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
})
