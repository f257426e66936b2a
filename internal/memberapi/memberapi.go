// Package memberapi has what all calls to API servers of members share: a time limit, the length of their errors in a log,
// and the read of a VmGroup that no cache answers. An operator of a member can control what its API server answers.
package memberapi

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Timeout bounds a read and a write of an API server. API servers answer in milliseconds. One that does not answer must
// not hold a worker that other members need.
const Timeout = 5 * time.Second

// maxError is the number of bytes of an error in a log: the API server can have written them.
const maxError = 300

// ErrorText returns the text of an error of an API server, for a log.
func ErrorText(err error) string { return untrusted.Text(err.Error(), maxError) }

// Group reads the metadata of a VmGroup from the API server. It returns nil if the VmGroup certainly does not exist. An API
// server that does not serve VmGroups, or a proxy, can answer "not found" as well: such an answer is an error.
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
