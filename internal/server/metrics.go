package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/codeconnect/vmgroup-operator/internal/seldom"
)

const metricsPath = "/metrics"

// Metrics specifies where metrics are served, and to which clients.
type Metrics struct {
	// Address to listen on; "0" turns metrics off.
	Address string
	// Secure metrics are served with TLS, to clients that the hub's RBAC allows to get /metrics. Other metrics are served to every client that
	// reaches the port.
	Secure bool
	// Certificates is a directory with tls.crt and tls.key. If empty, the server uses a self-signed certificate.
	Certificates string
	// Profiles serves profiles of the process too, to clients that the hub's RBAC allows to get their paths. They need Secure.
	Profiles bool
}

// Open listens for metrics clients, and returns their server; nothing if metrics are off. It replaces controller-runtime's metrics server, whose
// connections have no limit.
func (m Metrics) Open(config *rest.Config, log logr.Logger) ([]manager.Runnable, error) {
	if m.Address == "0" {
		return nil, nil
	}
	handler := promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	mux := http.NewServeMux()
	var certificate certificate
	var runnables []manager.Runnable
	if m.Secure {
		r, err := newReviews(config, log)
		if err != nil {
			return nil, err
		}
		handler = r.before(handler)
		if m.Profiles {
			addProfiles(mux, r)
		}
		pair, watcher, err := metricsCertificate(m.Certificates)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the metrics endpoint: %w", err)
		}
		if certificate = pair; watcher != nil {
			runnables = append(runnables, watcher)
		}
	}
	listener, err := net.Listen("tcp", m.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for those who read metrics: %w", err)
	}
	mux.Handle(metricsPath, handler)
	return append(runnables, boundedServer(listener, metricConnections, largeHead, "metrics", certificate, log, mux)), nil
}

// metricsCertificate returns the certificate in a directory, which the watcher reads again after changes. Without one, it returns a self-signed
// certificate.
func metricsCertificate(directory string) (certificate, *certwatcher.CertWatcher, error) {
	cert, key := filepath.Join(directory, corev1.TLSCertKey), filepath.Join(directory, corev1.TLSPrivateKeyKey)
	if directory != "" && exists(cert) && exists(key) {
		watcher, err := certwatcher.New(cert, key)
		if err != nil {
			return nil, nil, err
		}
		return watcher.GetCertificate, watcher, nil
	}
	ownCert, ownKey, err := certutil.GenerateSelfSignedCertKeyWithFixtures("localhost", []net.IP{{127, 0, 0, 1}}, nil, "")
	if err != nil {
		return nil, nil, err
	}
	pair, err := tls.X509KeyPair(ownCert, ownKey)
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }, nil, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

const (
	// reviewRate limits the requests that unknown clients of the metrics port can cause at the hub's API server. A scrape needs two.
	reviewRate, reviewBurst = 5, 20
	reviewTimeout           = 10 * time.Second
)

// reviews authenticates and authorizes callers at the hub. It replaces controller-runtime's filter, which needs the API server's own libraries:
// more code than the rest of this program.
type reviews struct {
	tokens authenticationclient.TokenReviewInterface
	access authorizationclient.SubjectAccessReviewInterface
	log    logr.Logger
	told   *seldom.Told[struct{}]
}

// newReviews returns reviews with their own client: metrics requests must not delay the manager's client.
func newReviews(config *rest.Config, log logr.Logger) (reviews, error) {
	own := rest.CopyConfig(config)
	own.QPS, own.Burst, own.RateLimiter = reviewRate, reviewBurst, nil
	tokens, err := authenticationclient.NewForConfig(own)
	if err != nil {
		return reviews{}, fmt.Errorf("make a client that asks who reads metrics: %w", err)
	}
	access, err := authorizationclient.NewForConfig(own)
	if err != nil {
		return reviews{}, fmt.Errorf("make a client that asks who may read metrics: %w", err)
	}
	return reviews{tokens.TokenReviews(), access.SubjectAccessReviews(), log, &seldom.Told[struct{}]{}}, nil
}

// before wraps a handler so that it serves only clients that can read metrics.
func (r reviews) before(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		status, err := r.review(request)
		switch {
		case err != nil:
			if more, tell := r.told.Next(struct{}{}, time.Now(), serverLogInterval); tell {
				r.log.Error(err, "Failed to check whether a user can read metrics", "suppressed", more)
			}
			http.Error(w, http.StatusText(status), status)
		case status != http.StatusOK:
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", "Bearer")
			}
			http.Error(w, http.StatusText(status), status)
		default:
			handler.ServeHTTP(w, request)
		}
	})
}

// review returns the status of the response: http.StatusOK for a request that is allowed.
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
