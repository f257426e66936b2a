package session_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAVCenterAnswersAKnockWhateverItThinksOfSOAPActions(t *testing.T) {
	for name, o := range map[string]sim.Options{"strict": {}, "lax": {AnySOAPAction: true}} {
		t.Run(name, func(t *testing.T) {
			_, proxy := start(t, o)
			must(t, session.Knock(t.Context(), config(proxy.URL)))
			s, err := session.Open(t.Context(), config(proxy.URL))
			must(t, err)
			must(t, s.Close(t.Context()))
		})
	}
}

func TestEveryClientNamesAVersionOfTheAPI(t *testing.T) {
	action, err := session.SOAPAction(config("https://vc.example.com"))
	must(t, err)
	if !strings.HasPrefix(action, "urn:vim25/") || strings.HasSuffix(action, "/") {
		t.Errorf("SOAPAction is %q", action)
	}
}

func TestWhatAnswersAKnockIsThere(t *testing.T) {
	const fault = `<Envelope><Body><Fault><faultcode>vim:VersionMismatchFaultCode</faultcode></Fault></Body></Envelope>`
	for _, test := range []struct {
		status int
		body   string
		there  bool
	}{
		{http.StatusOK, "<namespaces/>", true}, {http.StatusNotFound, "", true}, {http.StatusUnauthorized, "", true},
		{http.StatusInternalServerError, fault, true}, {http.StatusInternalServerError, "", false},
		{http.StatusServiceUnavailable, "vpxd starts", false}, {http.StatusBadGateway, "", false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/sdk/vimServiceVersions.xml" {
				t.Errorf("asked for %s %s", r.Method, r.URL.Path)
			}
			w.WriteHeader(test.status)
			_, _ = io.WriteString(w, test.body)
		}))
		if err := session.Knock(t.Context(), config(server.URL)); (err == nil) != test.there || err != nil && vsphere.KindOf(err) != vsphere.KindTransient {
			t.Errorf("%d %s: %v", test.status, test.body, err)
		}
		server.Close()
	}
}
