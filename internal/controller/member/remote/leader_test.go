package remote

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

func TestAReplicaThatDoesNotLeadReadsAMemberAndSendsItNoWrite(t *testing.T) {
	writes := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			writes++
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","uid":"c"}}`))
	}))
	defer server.Close()
	leads := shardingtest.Leader(false)
	api, err := New(&rest.Config{Host: server.URL}, nil, testBounds(), &leads)
	if err != nil {
		t.Fatal(err)
	}
	defer api.End()
	object := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b"}}
	}
	read := object()
	if err := api.Client.Get(t.Context(), client.ObjectKeyFromObject(read), read); err != nil || read.UID != "c" {
		t.Errorf("read %q, %v", read.UID, err)
	}
	merge := client.RawPatch("application/merge-patch+json", []byte("{}"))
	calls := map[string]func() error{
		"create": func() error { return api.Client.Create(t.Context(), object()) },
		"update": func() error { return api.Client.Update(t.Context(), object()) },
		"patch":  func() error { return api.Client.Patch(t.Context(), object(), merge) },
		"status": func() error { return api.Client.Status().Patch(t.Context(), object(), merge) },
		"delete": func() error { return api.Client.Delete(t.Context(), object()) },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrNotLeading) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if writes != 0 {
		t.Errorf("%d writes reached the member", writes)
	}
	leads = true
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s by the leader: %v", name, err)
		}
	}
	if writes != len(calls) {
		t.Errorf("%d of %d writes reached the member", writes, len(calls))
	}
}
