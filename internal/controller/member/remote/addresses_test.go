package remote

import (
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

func pemOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// TestOnlyAllowedAddressesAreConnectedTo according to the resolved address, not the name, unless the name itself
// is allowed.
func TestOnlyAllowedAddressesAreConnectedTo(t *testing.T) {
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
	}))
	defer server.Close()
	byName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, test := range []struct {
		host    string
		allowed []string
		want    bool
	}{
		{server.URL, []string{"127.0.0.0/8"}, true},
		{server.URL, []string{"10.0.0.0/8", "127.0.0.1"}, true},
		{server.URL, []string{"10.0.0.0/8", "2001:db8::/32"}, false},
		{server.URL, []string{"localhost"}, false},
		{byName, []string{"127.0.0.0/8", "::1"}, true},
		{byName, []string{"10.0.0.0/8"}, false},
		{byName, []string{"LocalHost"}, true},
		{byName, []string{"*.example.com"}, false},
		{byName, []string{"host"}, false},
	} {
		allowed, err := ParseAddresses(test.allowed)
		if err != nil {
			t.Fatal(err)
		}
		if proxyFor(allowed) != nil {
			t.Error("a proxy would connect to any address")
		}
		bounds := testBounds()
		bounds.Addresses = allowed
		config := &rest.Config{Host: test.host, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(server), ServerName: "example.com"}}
		api, err := New(config, nil, bounds, new(shardingtest.Leader(true)))
		if err != nil {
			t.Fatal(err)
		}
		before := asked
		_, err = api.Version(t.Context())
		api.End()
		if got := err == nil; got != test.want || asked > before != test.want {
			t.Errorf("%s with %q: %v", test.host, test.allowed, err)
		}
		var refused *AddressError
		if !test.want && (!errors.As(err, &refused) || AsProblem(test.host, err).Reason != v1alpha1.ReasonAddressRefused) {
			t.Errorf("%s with %q: said was %v", test.host, test.allowed, err)
		}
	}
}

func TestAddressesAreNetworksAndNames(t *testing.T) {
	a, err := ParseAddresses([]string{"10.1.2.3/8", "::ffff:192.0.2.1", "fd00::/8", "*.Members.example.com", "api.example.com"})
	if err != nil || a.Any() {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"10.200.0.1:6443": true, "[::ffff:10.0.0.1]:6443": true, "11.0.0.1:6443": false, "192.0.2.1:1": true, "192.0.2.2:1": false,
		"[fd12::1%eth0]:6443": true, "[fe80::1]:6443": false, "unix": false,
	} {
		if got := a.allowsIP(address); got != want {
			t.Errorf("%s: %t", address, got)
		}
	}
	for name, want := range map[string]bool{
		"api.example.com": true, "API.example.com.": true, "a.members.example.com": true, "a.b.members.example.com": true,
		"members.example.com": false, "evilmembers.example.com": false, "x.api.example.com": false, "10.0.0.1": false,
	} {
		if got := a.allowsName(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	for _, wrong := range []string{"", "10.0.0.0/33", "https://api.example.com", "a b", "*.", "api.*.com"} {
		if _, err := ParseAddresses([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	if a, err := ParseAddresses(nil); err != nil || !a.Any() {
		t.Errorf("nothing is %+v, %v", a, err)
	}
}
