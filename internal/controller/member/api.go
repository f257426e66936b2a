package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// memberAPI is the plain client with which a member is identified, claimed, equipped and checked. It has a
// rate limiter of its own, so that a busy member's health check does not queue behind reconciles.
type memberAPI struct {
	config    *rest.Config
	transport *memberTransport
	client    client.Client
	plain     rest.Interface
	timings   Timings
}

// newAPI dials nothing. The caller ends the transport.
func newAPI(config *rest.Config, timings Timings) (*memberAPI, error) {
	transport, err := newTransport(config, timings)
	if err != nil {
		return nil, err
	}
	scheme, err := newBootstrapScheme()
	if err != nil {
		return nil, err
	}
	uncached, err := client.New(config, client.Options{HTTPClient: transport.client, Scheme: scheme, Mapper: newMapper()})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	plainConfig := rest.CopyConfig(config)
	plainConfig.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	plain, err := rest.UnversionedRESTClientForConfigAndClient(plainConfig, transport.client)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return &memberAPI{config: config, transport: transport, client: uncached, plain: plain, timings: timings}, nil
}

// version of the member's API server.
func (a *memberAPI) version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timings.Request)
	defer cancel()
	body, err := a.plain.Get().AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	info := version.Info{}
	if err := json.Unmarshal(body, &info); err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	return shorten(info.GitVersion, 60), nil
}

// clusterUID is the member's identity: the UID of its namespace kube-system, which lives as long as the cluster.
func (a *memberAPI) clusterUID(ctx context.Context, patience time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	namespace := &corev1.Namespace{}
	if err := a.client.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
	}
	if namespace.UID == "" || len(namespace.UID) > 64 {
		return "", errors.New("namespace kube-system has no usable UID")
	}
	return string(namespace.UID), nil
}
