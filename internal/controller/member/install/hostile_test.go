package install_test

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// TestManagedFieldsThatBecomeMapsAreWeighed of each kind of a bundle, and wherever the kubeconfig says that the API server is: 8 MiB of them become half a
// gigabyte of maps.
func TestManagedFieldsThatBecomeMapsAreWeighed(t *testing.T) {
	heavy := `{"apiVersion":"v1","kind":"Any","metadata":{"name":"any","managedFields":[{"fieldsV1":{"a":[` + strings.Repeat(`{"":0},`, 1<<17) + `{}]}}]}}`
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, heavy)
	}))
	t.Cleanup(server.Close)
	trusted := rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	asked := func(path string, ask func(*remote.API, install.Bundle) error) {
		for _, known := range objects.Known() {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(known.GroupVersionKind)
			object.SetName(known.Name)
			api, err := remote.New(&rest.Config{Host: server.URL + path, TLSClientConfig: trusted}, remote.Bounds{
				Guard:    remote.NewGuard(remote.DefaultLimits(), remote.NewPace(remote.DefaultLimits())),
				Timeouts: remote.Timeouts{Dial: time.Minute, ResponseHeader: time.Minute, Answer: time.Minute, Request: time.Minute, PingInterval: time.Minute, Ping: time.Minute},
			}, func() bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			var limit *remote.LimitError
			if err := ask(api, install.Bundle{Objects: []*unstructured.Unstructured{object}}); !errors.As(err, &limit) {
				t.Errorf("below %q, the answer for %s %s: %v", path, known.Kind, known.Name, err)
			}
			api.End()
		}
	}
	for _, path := range []string{"", "/k8s/clusters/c-1/", "/api/v1/"} {
		asked(path, func(api *remote.API, bundle install.Bundle) error {
			_, err := install.Apply(t.Context(), api, bundle)
			return err
		})
		asked(path, func(api *remote.API, bundle install.Bundle) error {
			_, err := install.Compare(t.Context(), api, bundle)
			return err
		})
	}
}
