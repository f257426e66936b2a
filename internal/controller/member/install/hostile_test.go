package install_test

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// TestManagedFieldsThatBecomeMapsAreWeighed for each kind of a bundle, and for any path of the API server in the kubeconfig: 8
// MiB of them become half a gigabyte of maps.
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
			api, err := remote.New(&rest.Config{Host: server.URL + path, TLSClientConfig: trusted}, nil, remote.Bounds{
				Guard:    remote.NewGuard(remote.DefaultLimits(), remote.NewPace(remote.DefaultLimits())),
				Timeouts: remote.Timeouts{Dial: time.Minute, ResponseHeader: time.Minute, Answer: time.Minute, Request: time.Minute, PingInterval: time.Minute, Ping: time.Minute},
			}, new(shardingtest.Leader(true)))
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

// TestTheSchemasOfACRDAreNotDecoded on any read or write of the CRD: that would take half a gigabyte, and minutes.
func TestTheSchemasOfACRDAreNotDecoded(t *testing.T) {
	nested := func(depth int, within string) string {
		return strings.Repeat(`{"items":`, depth) + within + strings.Repeat("}", depth)
	}
	for name, schema := range map[string]string{
		"many":   `{"allOf":[` + strings.Repeat(`{},`, 80_000) + `{}]}`,
		"nested": nested(4000, `{"description":"`+strings.Repeat("x", 1<<20)+`"}`),
	} {
		for _, version := range []string{strconv.Itoa(crd.Version), "1"} { // Apply keeps one, and replaces the other
			t.Run(name+" in version "+version, func(t *testing.T) {
				var wrote atomic.Int64
				api := answeringAll(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet {
						wrote.Add(1)
						if _, err := io.Copy(io.Discard, r.Body); err != nil {
							t.Error(err)
						}
					}
					_, _ = io.WriteString(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"`+crd.VmGroupName+
						`","resourceVersion":"7","annotations":{"`+crd.VersionAnnotation+`":"`+version+`","`+crd.HashAnnotation+`":"`+crd.VmGroupCRD().Annotations[crd.HashAnnotation]+`"}},"spec":{"scope":"Namespaced","names":{"kind":"VmGroup"},`+
						`"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":`+schema+`}}]},`+
						`"status":{"conditions":[{"type":"Established","status":"True"}]}}`)
				})
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := time.Now()
				result, err := install.EnsureCRD(t.Context(), api.Client, crd.VmGroupCRD(), v1alpha1.ManageCRDsAndAdmission, time.Minute)
				took := time.Since(began)
				runtime.ReadMemStats(&after)
				allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
				t.Logf("%s, %d MiB", took, allocated)
				if err != nil || !result.Finding.OK || result.Version != version {
					t.Errorf("found was %+v, %v", result, err)
				}
				if (wrote.Load() == 1) != (version == "1") {
					t.Errorf("written %d times", wrote.Load())
				}
				if allocated > 128 || took > 10*time.Second {
					t.Errorf("it took %s and %d MiB", took, allocated)
				}
			})
		}
	}
}

// answeringAll returns an API whose server answers with h, in JSON.
func answeringAll(t *testing.T, h http.HandlerFunc) *remote.API {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		h(w, r)
	}))
	t.Cleanup(server.Close)
	api, err := remote.New(&rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}}, nil, remote.Bounds{
		Guard:    remote.NewGuard(remote.DefaultLimits(), remote.NewPace(remote.DefaultLimits())),
		Timeouts: remote.Timeouts{Dial: time.Minute, ResponseHeader: time.Minute, Answer: time.Minute, Request: time.Minute, PingInterval: time.Minute, Ping: time.Minute},
	}, new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.End)
	return api
}

// TestOfACRDThatIsKeptInMemoryOnlyItsDeletionIsKept: its labels can have a megabyte and more.
func TestOfACRDThatIsKeptInMemoryOnlyItsDeletionIsKept(t *testing.T) {
	for confirmed, kept := range map[string]bool{"crd-uid": true, strings.Repeat("u", 1<<20): false} {
		api := answeringAll(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"`+crd.VmGroupName+`","uid":"crd-uid",`+
				`"deletionTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"`+strings.Repeat("x", 1<<20)+`"},"managedFields":[{"manager":"m"}],"finalizers":["f"],`+
				`"annotations":{"b":"c","`+v1alpha1.ConfirmDeletionAnnotation+`":"`+confirmed+`"}}}`)
		})
		found, err := install.CRDMetadata(t.Context(), api, crd.VmGroupName)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Labels)+len(found.ManagedFields)+len(found.Finalizers) != 0 || len(found.Annotations) > 1 || found.DeletionTimestamp.IsZero() || found.Name != crd.VmGroupName {
			t.Errorf("kept is %.200v", found.ObjectMeta)
		}
		if v1alpha1.DeletionConfirmed(found) != kept || len(found.Annotations) == 1 != kept {
			t.Errorf("its deletion is confirmed: %t", v1alpha1.DeletionConfirmed(found))
		}
	}
}
