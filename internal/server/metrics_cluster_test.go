//go:build unix && !fast

package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

func TestSecureMetricsAreForThoseWhomTheHubAllows(t *testing.T) {
	hub, admin := realHub(t)
	roleOf(t, admin, "metrics_auth_role.yaml", "metrics-auth-test")
	roleOf(t, admin, "metrics_reader_role.yaml", "metrics-reader-test")
	bindTo(t, admin, "metrics-auth-test", rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "metrics-manager"})
	bindTo(t, admin, "metrics-reader-test", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: "prometheus"})
	prometheus, stranger := tokenOf(t, admin, "prometheus"), tokenOf(t, admin, "stranger")
	url := "https://" + serveMetrics(t, Metrics{Secure: true}, hub.UserConfig(t, "metrics-manager"))

	await.NoError(t, "the bound reader to be served", func() error {
		if status, _ := scrape(t, url, "Bearer "+prometheus); status != http.StatusOK {
			return fmt.Errorf("status %d", status)
		}
		return nil
	})
	for _, c := range []struct {
		who, authorization string
		want               int
	}{
		{"the bound reader", "Bearer " + prometheus, http.StatusOK},
		{"the bound reader, with the scheme in small letters", "bearer " + prometheus, http.StatusOK},
		{"a ServiceAccount that is not bound", "Bearer " + stranger, http.StatusForbidden},
		{"a request without a token", "", http.StatusUnauthorized},
		{"a request with an empty token", "Bearer ", http.StatusUnauthorized},
		{"a request with a changed token", "Bearer " + prometheus[:len(prometheus)-4] + "AAAA", http.StatusUnauthorized},
		{"a request with another scheme", "Basic " + prometheus, http.StatusUnauthorized},
	} {
		status, body := scrape(t, url, c.authorization)
		if status != c.want {
			t.Errorf("%s gets %d, want %d", c.who, status, c.want)
		}
		if served := strings.Contains(body, "# TYPE "); served != (c.want == http.StatusOK) {
			t.Errorf("%s gets %q", c.who, body)
		}
		if strings.Contains(body, "eyJ") {
			t.Errorf("the answer to %s contains the token: %s", c.who, body)
		}
	}
}

func TestMetricsAreRefusedWhenTheHubCannotBeAsked(t *testing.T) {
	hub, _ := realHub(t)
	url := "https://" + serveMetrics(t, Metrics{Secure: true}, hub.UserConfig(t, "metrics-manager-without-rights"))
	if status, body := scrape(t, url, "Bearer anything"); status != http.StatusInternalServerError || strings.Contains(body, "go_") {
		t.Errorf("status %d: %s", status, body)
	}
}
