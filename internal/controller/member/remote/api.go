package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Timeouts bound every wait for a member's API server. All must be set.
type Timeouts struct {
	// Dial bounds a TCP connect, and a TLS handshake after it.
	Dial time.Duration
	// ResponseHeader bounds the wait for an answer to a request that was sent.
	ResponseHeader time.Duration
	// Answer bounds an answer from the request to its last byte, if it is no watch, and each event of a watch.
	Answer time.Duration
	// Request bounds one request of an [API]; see [API.Bounded].
	Request time.Duration
	// PingInterval is how long a connection can be idle before a ping is sent, and Ping how long the answer can take.
	PingInterval, Ping time.Duration
}

// API is the plain client with which a member is identified, claimed, equipped and checked. It has a rate limiter of its own,
// so that a busy member's health check does not queue behind reconciles.
type API struct {
	// Config reaches the member. It is not changed.
	Config *rest.Config
	// Client reads and writes without a cache. Writes return [ErrNotLeading] on a replica that does not lead.
	Client    client.Client
	transport *transport
	plain     rest.Interface
	timeouts  Timeouts
}

// Bounds are the limits of an [API]. Several can share a Guard.
type Bounds struct {
	Timeouts  Timeouts
	Guard     *Guard
	Addresses Addresses
}

// New dials nothing. The caller ends the API. token authenticates each request, unless it is nil; config has none then. leader is
// called before each write, by several goroutines.
func New(config *rest.Config, token *Token, bounds Bounds, leader sharding.Leader) (*API, error) {
	transport, err := newTransport(config, token, bounds)
	if err != nil {
		return nil, err
	}
	scheme, writer := NewScheme(), &http.Client{Transport: leaderTransport{transport.client.Transport, leader}}
	uncached, err := client.New(config, client.Options{HTTPClient: writer, Scheme: scheme, Mapper: NewMapper()})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	plainConfig := rest.CopyConfig(config)
	plainConfig.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	plain, err := rest.UnversionedRESTClientForConfigAndClient(plainConfig, transport.client)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &API{Config: config, Client: bounds.Guard.uncached(uncached), transport: transport, plain: plain, timeouts: bounds.Timeouts}, nil
}

// Host is the URL of the member's API server.
func (a *API) Host() string { return a.Config.Host }

// HTTPClient is that of all requests and watches of the incarnation.
func (a *API) HTTPClient() *http.Client { return a.transport.client }

// Bounded is the context of one request.
func (a *API) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, a.timeouts.Request)
}

// Reset closes every connection; the next request dials anew.
func (a *API) Reset() { a.transport.reset() }

// End closes every connection permanently. Later uses of the client return [memberapi.ErrEnded].
func (a *API) End() { a.transport.end() }

// Version of the member's API server.
func (a *API) Version(ctx context.Context) (string, error) {
	ctx, cancel := a.Bounded(ctx)
	defer cancel()
	body, err := a.plain.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	info := version.Info{}
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	return untrusted.Text(info.GitVersion, 60), nil
}

// Revision is that of the member's storage at this moment, or a later one: the resourceVersion of a list without one, which any API
// server answers with the newest state. See package revision.
func (a *API) Revision(ctx context.Context) (string, error) {
	ctx, cancel := a.Bounded(ctx)
	defer cancel()
	body, err := a.plain.Get().AbsPath("/apis", v1alpha1.GroupVersion.String(), "vmgroups").Param("limit", "1").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("read the revision of the storage: %w", err)
	}
	list := metav1.PartialObjectMetadataList{}
	if err := json.Unmarshal(body, &list); err != nil {
		return "", fmt.Errorf("read the revision of the storage: %w", err)
	}
	return list.ResourceVersion, nil
}

// mostUsername bounds a username, in bytes. Those of service accounts have at most 336.
const mostUsername = 512

// Username is the name of this client in the member. It is written into several admission objects, so that one that is too long is a
// [*Problem].
func (a *API) Username(ctx context.Context) (string, error) {
	ctx, cancel := a.Bounded(ctx)
	defer cancel()
	review := &authenticationv1.SelfSubjectReview{}
	if err := a.Client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask for the own username: %w", err)
	}
	if review.Status.UserInfo.Username == "" {
		return "", errors.New("the member does not say under which username it knows the operator")
	}
	if len(review.Status.UserInfo.Username) > mostUsername {
		return "", &Problem{Reason: v1alpha1.ReasonAdmissionFailed, Lasting: true, Message: fmt.Sprintf(
			"%s knows the operator by a username of more than %d bytes. Give the operator an identity with a shorter one in the kubeconfig's Secret; "+
				"if its username is short, check what answers at that address.", a.Host(), mostUsername)}
	}
	return review.Status.UserInfo.Username, nil
}

// ServesMutatingPolicies uses the member's discovery, and not its version: a feature gate can have turned them off.
func (a *API) ServesMutatingPolicies(ctx context.Context) (bool, error) {
	ctx, cancel := a.Bounded(ctx)
	defer cancel()
	body, err := a.plain.Get().AbsPath("/apis", admissionregistrationv1.SchemeGroupVersion.String()).Do(ctx).Raw()
	if err != nil {
		return false, fmt.Errorf("read the kinds of admission objects: %w", err)
	}
	list := metav1.APIResourceList{}
	if err := json.Unmarshal(body, &list); err != nil {
		return false, fmt.Errorf("read the kinds of admission objects: %w", err)
	}
	return slices.ContainsFunc(list.APIResources, func(resource metav1.APIResource) bool {
		return resource.Name == "mutatingadmissionpolicies"
	}), nil
}

// ClusterUID is the member's identity: the UID of its namespace kube-system, which lives as long as the cluster.
func (a *API) ClusterUID(ctx context.Context, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	namespace := &corev1.Namespace{}
	if err := a.Client.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
	}
	// The hub keeps it as a key.
	if !IsPlainUID(string(namespace.UID)) {
		return "", errors.New("namespace kube-system has no usable UID")
	}
	return string(namespace.UID), nil
}

// IsPlainUID reports whether a UID has only letters, digits, `-`, `_` and `.`, and at most 64 bytes. Those of API servers do.
// Others must be neither keys nor part of a command that users can copy.
func IsPlainUID(uid string) bool {
	return len(uid) <= 64 && len(validation.IsConfigMapKey(uid)) == 0
}
