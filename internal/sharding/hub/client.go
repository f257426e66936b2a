package hub

import (
	"errors"
	"fmt"
	"net/http"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

var errNoNamespace = errors.New("the hub's client needs a namespace")

// Client is a connection to the hub. It is safe for concurrent use.
type Client struct {
	options   Options
	leases    *rest.RESTClient
	maps      *rest.RESTClient
	transport *http.Transport
	// relist holds one pending list request per observed kind.
	relist map[kind]chan struct{}
}

// New returns a client. It sends no request and does not change config. If config names credential files, the client
// reads them again when they change.
func New(config *rest.Config, options Options) (*Client, error) {
	if options.Namespace == "" {
		return nil, errNoNamespace
	}
	options = options.withDefaults()
	config = rest.CopyConfig(config)
	// The requests are few, and a client-side limit would delay important ones.
	config.QPS, config.RateLimiter = -1, nil
	// The context limits a request. This timeout would also limit watches.
	config.Timeout = 0
	client, transport, err := newHTTPClient(config, options.Request)
	if err != nil {
		return nil, fmt.Errorf("prepare the hub's client for sharding: %w", err)
	}
	c := &Client{
		options: options, transport: transport,
		relist: map[kind]chan struct{}{sessions: make(chan struct{}, 1), theRing: make(chan struct{}, 1)},
	}
	for _, part := range []struct {
		client  **rest.RESTClient
		path    string
		version schema.GroupVersion
	}{
		{&c.leases, "/apis", coordinationv1.SchemeGroupVersion},
		{&c.maps, "/api", corev1.SchemeGroupVersion},
	} {
		own := rest.CopyConfig(config)
		own.APIPath, own.GroupVersion = part.path, &part.version
		own.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		own.ContentType, own.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
		if *part.client, err = rest.RESTClientForConfigAndClient(own, client); err != nil {
			return nil, fmt.Errorf("prepare the hub's client for sharding: %w", err)
		}
	}
	return c, nil
}

// leaseRequest and ringRequest address their one object or collection. They disable retries of client-go, on 429 and
// for reads on lost connections: the caller plans the remaining time itself.
func (c *Client) leaseRequest(verb string) *rest.Request {
	return c.leases.Verb(verb).MaxRetries(0).Namespace(c.options.Namespace).Resource(leaseResource)
}

func (c *Client) ringRequest(verb string) *rest.Request {
	return c.maps.Verb(verb).MaxRetries(0).Namespace(c.options.Namespace).Resource(ringResource)
}
