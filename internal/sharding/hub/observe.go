package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

var errUnexpectedEvent = errors.New("an unexpected event")

func (c *Client) observeSessions(sink Sink) observation {
	// Only by this package's own labels, so that replicas with different Options.Labels see each other.
	selector := labels.SelectorFromSet(Options{}.labels(sessionComponent)).String()
	return observation{
		kind: sessions,
		list: func(ctx context.Context) (string, error) {
			list := &coordinationv1.LeaseList{}
			err := receive(ctx, read(c.leaseRequest(http.MethodGet), metav1.ListOptions{LabelSelector: selector}), list, &list.ListMeta)
			if err != nil {
				return "", err
			}
			all := make([]protocol.StoredLease, 0, len(list.Items))
			for i := range list.Items {
				if stored, ok := c.decodeLease(&list.Items[i]); ok {
					all = append(all, stored)
				}
			}
			sink.Leases(all)
			return list.ResourceVersion, nil
		},
		open: func(ctx context.Context, version string, seconds int64) (watch.Interface, error) {
			return read(c.leaseRequest(http.MethodGet), watchFrom(metav1.ListOptions{LabelSelector: selector}, version, seconds)).Watch(ctx)
		},
		deliver: func(event watch.Event) error {
			lease, ok := event.Object.(*coordinationv1.Lease)
			if !ok || !tells(event) {
				return unexpected(event)
			}
			stored, ok := c.decodeLease(lease)
			switch {
			case !ok:
			case event.Type == watch.Deleted:
				sink.LeaseDeleted(stored.Session)
			default:
				sink.Lease(stored)
			}
			return nil
		},
	}
}

func (c *Client) observeRing(sink Sink) observation {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, c.options.RingName).String()
	tell := func(object *corev1.ConfigMap) {
		stored, err := decodeRing(object)
		if err != nil {
			sink.RingInvalid(stored.Version, err)
			return
		}
		sink.Ring(stored)
	}
	return observation{
		kind: theRing,
		list: func(ctx context.Context) (string, error) {
			list := &corev1.ConfigMapList{}
			err := receive(ctx, read(c.ringRequest(http.MethodGet), metav1.ListOptions{FieldSelector: selector}), list, &list.ListMeta)
			if err != nil {
				return "", err
			}
			if len(list.Items) == 0 {
				sink.RingDeleted()
			}
			for i := range list.Items {
				tell(&list.Items[i])
			}
			return list.ResourceVersion, nil
		},
		open: func(ctx context.Context, version string, seconds int64) (watch.Interface, error) {
			return read(c.ringRequest(http.MethodGet), watchFrom(metav1.ListOptions{FieldSelector: selector}, version, seconds)).Watch(ctx)
		},
		deliver: func(event watch.Event) error {
			object, ok := event.Object.(*corev1.ConfigMap)
			switch {
			case !ok || !tells(event):
				return unexpected(event)
			case event.Type == watch.Deleted:
				sink.RingDeleted()
			default:
				tell(object)
			}
			return nil
		},
	}
}

// read is a request for a collection. Without a resourceVersion, a list is consistent: it contains everything
// written before it was sent.
func read(request *rest.Request, options metav1.ListOptions) *rest.Request {
	return request.VersionedParams(&options, scheme.ParameterCodec)
}

// receive reads a list. Another object in a successful response would leave the list empty, as if no objects
// existed.
func receive(ctx context.Context, request *rest.Request, list runtime.Object, meta *metav1.ListMeta) error {
	if err := request.Do(ctx).Into(list); err != nil {
		return err
	}
	if meta.ResourceVersion == "" {
		return errOtherType
	}
	return nil
}

func watchFrom(options metav1.ListOptions, version string, seconds int64) metav1.ListOptions {
	options.Watch, options.ResourceVersion, options.TimeoutSeconds = true, version, &seconds
	return options
}

// tells reports whether an event concerns an object.
func tells(event watch.Event) bool {
	return event.Type == watch.Added || event.Type == watch.Modified || event.Type == watch.Deleted
}

// unexpected returns the error in an event, for example that the version was compacted.
func unexpected(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	return fmt.Errorf("%w: %s %T", errUnexpectedEvent, event.Type, event.Object)
}
