// Package memberapi is for all calls to API servers of members. It has their time limit, the length limit of their errors
// in a log, and an uncached read of a VmGroup. Administrators of a member can control the answers of its API server.
package memberapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// ErrEnded is returned by every use of a member's client after its connection has ended, for example because the Secret was
// rotated. A later connection has another client.
var ErrEnded = errors.New("this connection to the member has ended")

// Overtaken reports whether an error of calls about the VmGroup of this name shows only that the world changed meanwhile: the
// connection ended, and the next one lists the groups again; or the VmGroup was removed, and the informer is about to report it.
func Overtaken(err error, name string) bool {
	if errors.Is(err, ErrEnded) {
		return true
	}
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "vmgroups" && details.Name == name
}

// Timeout limits one read or write of an API server. API servers answer in milliseconds. An unresponsive API server must
// not block a worker that other members need.
const Timeout = 5 * time.Second

// maxError limits an error in a log, in bytes, because the API server can have written it.
const maxError = 300

// ErrorText returns the text of an API server's error for a log.
func ErrorText(err error) string { return untrusted.Text(err.Error(), maxError) }

// Group reads the metadata of a VmGroup from the API server. It returns nil only if the VmGroup does not exist. A proxy, or
// an API server without the VmGroup API, can also answer "not found". Group returns an error for such an answer.
func Group(ctx context.Context, live client.Reader, name types.NamespacedName) (*metav1.ObjectMeta, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroup"))
	err := live.Get(ctx, name, found)
	switch {
	case err == nil:
		return &found.ObjectMeta, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, nil
	}
	return nil, fmt.Errorf("read VmGroup %s: %w", name, err)
}
