package remote

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// TestAReplacedTokenKeepsConnectionsAndWatches: the connection and the watch that is open on it stay, and later requests have the new token.
func TestAReplacedTokenKeepsConnectionsAndWatches(t *testing.T) {
	var connections atomic.Int32
	next := make(chan string)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/watch" {
			_ = json.NewEncoder(w).Encode(map[string]string{"gitVersion": r.Header.Get("Authorization")})
			return
		}
		for {
			select {
			case line := <-next:
				_, _ = fmt.Fprintln(w, line)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	token := NewToken("first")
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(server)}}
	api, err := New(config, token, testBounds(), new(shardingtest.Leader(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer api.End()
	sent := func(want string) {
		t.Helper()
		if got, err := api.Version(t.Context()); err != nil || got != want {
			t.Fatalf("the server got %q, want %q; error %v", got, want, err)
		}
	}
	sent("Bearer first")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/watch?watch=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { next <- `"begins"` }()
	watch, err := api.HTTPClient().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Body.Close() }()
	events := bufio.NewScanner(watch.Body)
	if !events.Scan() || events.Text() != `"begins"` {
		t.Fatalf("the watch has %q, error %v", events.Text(), events.Err())
	}
	if !token.Replace("second") || token.Replace("second") {
		t.Error("Replace does not report whether the token was another one")
	}
	sent("Bearer second")
	go func() { next <- `"continues"` }()
	if !events.Scan() || events.Text() != `"continues"` {
		t.Errorf("after the token was replaced, the watch has %q, error %v", events.Text(), events.Err())
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	if config.BearerToken != "" || request.Header.Get("Authorization") != "" {
		t.Error("the token was written into the configuration or the request of the caller")
	}
}
