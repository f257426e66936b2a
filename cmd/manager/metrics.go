package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// metricsOptions serves metrics to everybody who reaches the port, or with --metrics-secure by TLS to those whom the hub's
// RBAC allows to get /metrics.
func metricsOptions(o options) server.Options {
	opts := server.Options{BindAddress: o.metricsAddress}
	if !o.metricsSecure {
		return opts
	}
	opts.SecureServing, opts.CertDir, opts.FilterProvider = true, o.metricsCerts, reviewed
	opts.TLSOpts = append(opts.TLSOpts, func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"http/1.1"}
	})
	return opts
}

const (
	// reviewRate bounds what strangers who reach the metrics port can make the hub's API server do. A scrape needs two.
	reviewRate, reviewBurst = 5, 20
	reviewTimeout           = 10 * time.Second
)

// reviews asks the hub who a caller is and what it may do. It does what controller-runtime's filter of that name does,
// which needs the API server's own libraries: more code than all the rest of this program.
type reviews struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
}

// reviewed is a server.Options.FilterProvider. The client is the manager's, which is not to wait for those who ask for metrics.
func reviewed(config *rest.Config, _ *http.Client) (server.Filter, error) {
	own := rest.CopyConfig(config)
	own.QPS, own.Burst, own.RateLimiter = reviewRate, reviewBurst, nil
	tokens, err := authenticationclient.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("make a client that asks who reads metrics: %w", err)
	}
	access, err := authorizationclient.NewForConfig(own)
	if err != nil {
		return nil, fmt.Errorf("make a client that asks who may read metrics: %w", err)
	}
	r := reviews{tokens.TokenReviews(), access.SubjectAccessReviews()}
	return func(log logr.Logger, handler http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			status, err := r.review(request)
			switch {
			case err != nil:
				log.Info("It could not be found out whether somebody may read metrics", "error", err.Error())
				http.Error(w, http.StatusText(status), status)
			case status != http.StatusOK:
				if status == http.StatusUnauthorized {
					w.Header().Set("WWW-Authenticate", "Bearer")
				}
				http.Error(w, http.StatusText(status), status)
			default:
				handler.ServeHTTP(w, request)
			}
		}), nil
	}, nil
}

// review returns how to answer a request: with metrics if that is http.StatusOK.
func (r reviews) review(request *http.Request) (status int, err error) {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return http.StatusUnauthorized, nil
	}
	ctx, cancel := context.WithTimeout(request.Context(), reviewTimeout)
	defer cancel()
	asked := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	who, err := r.tokens.Create(ctx, asked, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("review a token: %w", err)
	}
	if !who.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := who.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	may, err := r.access.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: request.URL.Path, Verb: strings.ToLower(request.Method)},
	}}, metav1.CreateOptions{})
	if err != nil {
		return http.StatusInternalServerError, fmt.Errorf("review the access of %s: %w", user.Username, err)
	}
	if !may.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
