// Package cluster connects to the clusters of a user's kubeconfig, with the user's own rights, and turns what can go wrong into sentences.
package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Cluster is one cluster, as a context of the kubeconfig reaches it.
type Cluster struct {
	client.Client
	// Context is the name in the kubeconfig.
	Context string
	// Config has the user's credential, which is only used and never copied.
	Config *rest.Config
}

// Facts are what an API server reports of itself.
type Facts struct {
	// UID of the namespace kube-system identifies the cluster.
	UID string
	// Version of the API server, such as v1.35.2.
	Version string
	// Clock is the time of the API server minus that of this computer.
	Clock time.Duration
}

// New returns the cluster of a client configuration. It connects to nothing.
func New(name string, config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 100, 100 // a person waits
	if config.WarningHandlerWithContext == nil {
		config.WarningHandler = rest.NoWarnings{}
	}
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, Usage("context %q cannot be used: %v", name, err)
	}
	c, err := client.New(config, client.Options{Scheme: Scheme(), HTTPClient: http})
	if err != nil {
		return nil, Explain(name, config.Host, err)
	}
	return &Cluster{Client: c, Context: name, Config: config}, nil
}

// Ask returns the facts of the cluster, or a [*Failure].
func (c *Cluster) Ask(ctx context.Context, now func() time.Time) (Facts, error) {
	info, clock, err := c.version(ctx, now)
	if err != nil {
		return Facts{}, Explain(c.Context, c.Config.Host, err)
	}
	kubeSystem := &corev1.Namespace{}
	if err := c.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, kubeSystem); err != nil {
		return Facts{}, Explain(c.Context, c.Config.Host, err)
	}
	return Facts{UID: untrusted.Text(string(kubeSystem.UID), 64), Version: untrusted.Text(info.GitVersion, 64), Clock: clock}, nil
}

// version reads the version, and the clock from the header Date, which has a resolution of a second.
func (c *Cluster) version(ctx context.Context, now func() time.Time) (info version.Info, clock time.Duration, err error) {
	base, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return info, 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("version").String(), http.NoBody)
	if err != nil {
		return info, 0, err
	}
	http, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return info, 0, err
	}
	answer, err := http.Do(request)
	if err != nil {
		return info, 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == 200 {
		if err := json.NewDecoder(answer.Body).Decode(&info); err != nil {
			return info, 0, fmt.Errorf("%s is no Kubernetes API server: %w", c.Config.Host, err)
		}
	}
	if date, err := time.Parse(time.RFC1123, answer.Header.Get("Date")); err == nil {
		clock = date.Sub(now())
	}
	return info, clock, nil
}
