package link

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// An address that now leads to another member of the same hub returns the same claim.
func TestAHealthCheckFindsAnotherMemberOfThisHubAtTheSameAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/configmaps/"+install.ClaimName) {
			_, _ = io.WriteString(w, `{"kind":"ConfigMap","apiVersion":"v1","data":{"installation":"one"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"b"}}`)
	}))
	t.Cleanup(server.Close)
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet()})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(p, settings.Target{Name: "me", Config: &rest.Config{Host: server.URL}, KnownUID: "a"}, nil)
	apis, err := c.provider.opts.APIs(&c.target, c.pace, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(apis.End)
	var problem *remote.Problem
	if err := c.check(t.Context(), apis, "a"); !errors.As(err, &problem) || problem.Reason != v1alpha1.ReasonAnotherCluster {
		t.Errorf("the health check says %v", err)
	}
	if err := c.check(t.Context(), apis, "b"); err != nil {
		t.Errorf("the cluster itself: %v", err)
	}
}
