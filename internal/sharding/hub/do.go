package hub

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
)

var (
	errNoVersion = errors.New("a write without a version would not be conditional")
	errOtherType = errors.New("the answer is not the object that was asked for")
	errUnknownOp = errors.New("there is no such request")
)

// Do executes op with one request. It returns when the request is answered or ctx ends, whichever comes first. It does
// not retry. It is safe for concurrent use.
//
// After an Unknown outcome, the next request uses a new connection.
func (c *Client) Do(ctx context.Context, op protocol.Op) protocol.Result {
	result := c.do(ctx, op)
	if result.Outcome == protocol.Unknown {
		c.transport.CloseIdleConnections()
	}
	return result
}

func (c *Client) do(ctx context.Context, op protocol.Op) protocol.Result {
	switch op := op.(type) {
	case protocol.CreateSession:
		lease, err := c.encodeLease(op.Lease)
		if err != nil {
			return refused(op, err)
		}
		return c.session(ctx, op, op.Lease.Session, c.leaseRequest(http.MethodPost).Body(lease))
	case protocol.WriteSession:
		patch, err := c.encodePatch(op.Lease, op.Version)
		if err != nil {
			return refused(op, err)
		}
		request := c.leaseRequest(http.MethodPatch).Name(c.leaseName(op.Lease.Session)).
			SetHeader("Content-Type", string(types.MergePatchType)).Body(patch)
		return c.session(ctx, op, op.Lease.Session, request)
	case protocol.ReadSession:
		return c.session(ctx, op, op.Session, c.leaseRequest(http.MethodGet).Name(c.leaseName(op.Session)))
	case protocol.DeleteSession:
		return c.deleteSession(ctx, op)
	case protocol.ReadRing:
		return c.ring(ctx, op, c.ringRequest(http.MethodGet).Name(c.options.RingName))
	case protocol.CreateRing:
		object, err := c.encodeRing(op.Ring, "")
		if err != nil {
			return refused(op, err)
		}
		return c.ring(ctx, op, c.ringRequest(http.MethodPost).Body(object))
	case protocol.WriteRing:
		if op.Version == "" {
			return refused(op, errNoVersion)
		}
		object, err := c.encodeRing(op.Ring, op.Version)
		if err != nil {
			return refused(op, err)
		}
		return c.ring(ctx, op, c.ringRequest(http.MethodPut).Name(c.options.RingName).Body(object))
	default:
		return refused(op, errUnknownOp)
	}
}

// session sends a request whose response is a session's Lease.
func (c *Client) session(ctx context.Context, op protocol.Op, session string, request *rest.Request) protocol.Result {
	lease := &coordinationv1.Lease{}
	name := c.leaseName(session)
	if failure := send(ctx, op, leaseResource, name, request, lease, &lease.ObjectMeta); failure != nil {
		return *failure
	}
	stored, _ := c.decodeLease(lease)
	return protocol.Result{Outcome: protocol.Done, Lease: stored}
}

func (c *Client) deleteSession(ctx context.Context, op protocol.DeleteSession) protocol.Result {
	if op.Version == "" {
		return refused(op, errNoVersion)
	}
	name := c.leaseName(op.Session)
	request := c.leaseRequest(http.MethodDelete).Name(name).
		Body(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &op.Version}})
	if failure := send(ctx, op, leaseResource, name, request, nil, nil); failure != nil {
		return *failure
	}
	return protocol.Result{Outcome: protocol.Done}
}

// ring sends a request whose response is the ConfigMap of the shard map.
func (c *Client) ring(ctx context.Context, op protocol.Op, request *rest.Request) protocol.Result {
	object := &corev1.ConfigMap{}
	if failure := send(ctx, op, ringResource, c.options.RingName, request, object, &object.ObjectMeta); failure != nil {
		return *failure
	}
	stored, err := decodeRing(object)
	switch _, reading := op.(protocol.ReadRing); {
	case err == nil:
		return protocol.Result{Outcome: protocol.Done, Ring: stored}
	case reading:
		return protocol.Result{Outcome: protocol.Invalid, Ring: stored, Err: failed(op, err)}
	default:
		// The shard map was changed on its way to the hub. The next read returns the stored one.
		return protocol.Result{Outcome: protocol.Unknown, Err: failed(op, err)}
	}
}

// send returns nil if the request was executed and answered, with the response in into, whose metadata is meta. A nil
// into accepts any successful response.
func send(
	ctx context.Context, op protocol.Op, resource, name string, request *rest.Request, into runtime.Object, meta *metav1.ObjectMeta,
) *protocol.Result {
	// A request that cannot be built is not sent.
	if err := request.Error(); err != nil {
		result := refused(op, err)
		return &result
	}
	answer := request.Do(ctx)
	err := answer.Error()
	if err == nil && into != nil {
		err = answer.Into(into)
		if err == nil && (meta.Name != name || meta.ResourceVersion == "") {
			err = errOtherType
		}
	}
	if err == nil {
		return nil
	}
	result := protocol.Result{Outcome: outcomeOf(err, creates(op), resource, name)}
	switch result.Outcome {
	case protocol.Unknown, protocol.Refused:
		result.Err = failed(op, err)
	}
	return &result
}

func creates(op protocol.Op) bool {
	switch op.(type) {
	case protocol.CreateSession, protocol.CreateRing:
		return true
	default:
		return false
	}
}

func refused(op protocol.Op, err error) protocol.Result {
	return protocol.Result{Outcome: protocol.Refused, Err: failed(op, err)}
}

func failed(op protocol.Op, err error) error {
	return fmt.Errorf("%s: %w", describe(op), err)
}

// describe names a request in messages.
func describe(op protocol.Op) string {
	switch op := op.(type) {
	case protocol.CreateSession:
		return "create the Lease of session " + op.Lease.Session
	case protocol.WriteSession:
		return "write the Lease of session " + op.Lease.Session
	case protocol.ReadSession:
		return "read the Lease of session " + op.Session
	case protocol.DeleteSession:
		return "delete the Lease of session " + op.Session
	case protocol.ReadRing:
		return "read the shard map"
	case protocol.CreateRing:
		return "create the shard map"
	case protocol.WriteRing:
		return "write the shard map"
	default:
		return fmt.Sprintf("%T", op)
	}
}
