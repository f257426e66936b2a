package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
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
	client    bootstrapClient
	plain     rest.Interface
	timings   Timings
}

// newAPI dials nothing. The caller ends the transport. mayWrite is asked before each write.
func newAPI(config *rest.Config, timings Timings, mayWrite func() bool) (*memberAPI, error) {
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
	return &memberAPI{
		config: config, transport: transport, plain: plain, timings: timings,
		client: leaderClient{Reader: uncached, writer: uncached, mayWrite: mayWrite},
	}, nil
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

// username is who this client is in the member.
func (a *memberAPI) username(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timings.Request)
	defer cancel()
	review := &authenticationv1.SelfSubjectReview{}
	if err := a.client.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask for the own username: %w", err)
	}
	if review.Status.UserInfo.Username == "" {
		return "", errors.New("the member does not say under which username it knows the operator")
	}
	return review.Status.UserInfo.Username, nil
}

// servesMutatingPolicies asks the member's discovery, and not its version: a feature gate may have turned them off.
func (a *memberAPI) servesMutatingPolicies(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timings.Request)
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
