//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// patience of all waits; a loaded machine with the race detector is slow.
const patience = 2 * time.Minute

// roleOf reads the first object of a file in config/rbac, and makes it under another name.
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

// create makes an object that goes with the test.
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
	url := "http://" + serveMetrics(t, options{}, &rest.Config{})
	if status, body := scrape(t, url, ""); status != http.StatusOK || !strings.Contains(body, "go_goroutines") {
		t.Errorf("status %d: %.200s", status, body)
	}
}

// serveMetrics returns the URL of a metrics endpoint that lasts as long as the test.
func serveMetrics(t *testing.T, o options, config *rest.Config) string {
	t.Helper()
	o.metricsAddress = "127.0.0.1:0"
	metrics, err := server.NewServer(metricsOptions(o), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := metrics.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	address := ""
	await.NoError(t, "the metrics endpoint to listen", func() error {
		if address = metrics.(interface{ GetBindAddr() string }).GetBindAddr(); address == "" {
			return errors.New("it does not yet")
		}
		return nil
	})
	return address + "/metrics"
}
