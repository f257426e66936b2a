//go:build unix

package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/internal/admission/trust/trusttest"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// roleOf reads the first object of a file in config/rbac, and creates it under another name.
func roleOf(t *testing.T, admin client.Client, file, name string) {
	t.Helper()
	content, err := os.ReadFile("../../config/rbac/" + file)
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096).Decode(role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("%s: rules %v, error %v", file, role.Rules, err)
	}
	role.Name = name
	create(t, admin, role)
}

// create makes an object that the end of the test removes.
func create(t *testing.T, admin client.Client, object client.Object) {
	t.Helper()
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), object); err != nil {
			t.Error(err)
		}
	})
}

func bindTo(t *testing.T, admin client.Client, role string, subject rbacv1.Subject) {
	t.Helper()
	create(t, admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		Subjects:   []rbacv1.Subject{subject}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	})
}

// tokenOf returns a token of a new ServiceAccount.
func tokenOf(t *testing.T, admin client.Client, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	request := &authenticationv1.TokenRequest{}
	create(t, admin, account)
	if err := admin.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// scrape returns the status and the body for a header Authorization.
func scrape(t *testing.T, url, authorization string) (int, string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestMetricsAreOpenWithoutTheFlag(t *testing.T) {
	url := "http://" + serveMetrics(t, Metrics{}, &rest.Config{})
	if status, body := scrape(t, url, ""); status != http.StatusOK || !strings.Contains(body, "# TYPE ") {
		t.Errorf("status %d: %.200s", status, body)
	}
}

// TestMetricsCertificatesAreReadAgain: a certificate from another source is served, also after a renewal.
func TestMetricsCertificatesAreReadAgain(t *testing.T) {
	directory := t.TempDir()
	issue := func() (serial string) {
		t.Helper()
		begin, end := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		cert, key := trusttest.NewAuthority(t, begin, end).Issue(t, begin, end)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(directory+"/tls.crt", cert, 0o600), os.WriteFile(directory+"/tls.key", key, 0o600)); err != nil {
			t.Fatal(err)
		}
		return string(pair.Leaf.Raw)
	}
	want := issue()
	address, _, _ := strings.Cut(serveMetrics(t, Metrics{Secure: true, Certificates: directory}, &rest.Config{}), "/")
	for _, when := range []string{"at first", "after it was renewed"} {
		await.NoError(t, "the certificate "+when, func() error {
			conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			if got := conn.ConnectionState(); string(got.PeerCertificates[0].Raw) != want || got.NegotiatedProtocol != "" {
				return errors.New("it is another one")
			}
			return nil
		})
		want = issue()
	}
}

// TestThePortOfMetricsIsBounded: many clients keep a connection, by requests that net/http answers itself or by sending
// nothing, and all end.
func TestThePortOfMetricsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			certificate certificate
			dial        func(pipes) net.Conn
		}{
			"plain": {nil, pipes.dialPlain}, "TLS": {selfSigned(t), pipes.dial},
		} {
			outside := make(pipes)
			server := boundedServer(outside, metricConnections, largeHead, "metrics", c.certificate, logr.Discard(), http.NewServeMux())
			end := served(t, server.Server, server.Listener)
			var all sync.WaitGroup
			for _, head := range []string{"", "GET /metrics HTTP/1.1\r\n", "OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"} {
				begun := time.Now()
				for range metricConnections {
					conn := c.dial(outside)
					all.Go(func() {
						if head == "" {
							_, _ = conn.Read(make([]byte, 1))
							return
						}
						_, open := answerTo(t, conn, head)
						if open > bodyPatience {
							t.Errorf("%s: %q kept a connection for %v", name, head, open)
						}
					})
				}
				synctest.Wait()
				// One more is served when they have ended.
				answer, _ := answerTo(t, c.dial(outside), "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				if took := time.Since(begun); !strings.HasPrefix(answer, "404 ") || took > bodyPatience || took == 0 {
					t.Errorf("%s, %q: after %v the answer is %s", name, head, took, answer)
				}
				all.Wait()
			}
			end()
		}
	})
}

// serveMetrics returns the URL of a metrics endpoint that lasts as long as the test.
func serveMetrics(t *testing.T, m Metrics, config *rest.Config) string {
	t.Helper()
	m.Address = "127.0.0.1:0"
	runnables, err := m.Open(config, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	for _, runnable := range runnables {
		running.Go(func() {
			if err := runnable.Start(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	server, ok := runnables[len(runnables)-1].(*manager.Server)
	if !ok {
		t.Fatal("nothing serves metrics")
	}
	return server.Listener.Addr().String() + metricsPath
}
