package sim_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const whoAreYou = `<?xml version="1.0"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>` +
	`<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent></Body></Envelope>`

// post sends one call without a login, and returns the response with its body.
func post(t *testing.T, url, action string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(whoAreYou))
	must(t, err)
	req.Header.Set("SOAPAction", action)
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return res, string(body)
}

func TestACallNamesAVersionOfTheAPI(t *testing.T) {
	s, _ := start(t, sim.Options{})
	lax, _ := start(t, sim.Options{AnySOAPAction: true})
	for action, known := range map[string]bool{"urn:vim25/9.0.0.0": true, `"urn:vim25/7.0"`: true, "/": false, "": false, "urn:other/1": false} {
		res, body := post(t, s.URL, action)
		if got := res.StatusCode == http.StatusOK; got != known || !known && !strings.Contains(body, "VersionMismatchFaultCode") {
			t.Errorf("SOAPAction %q: %s %s", action, res.Status, body)
		}
		if res, _ := post(t, lax.URL, action); res.StatusCode != http.StatusOK {
			t.Errorf("SOAPAction %q is refused although all are accepted: %s", action, res.Status)
		}
	}
}

// sessionsOf returns the number of sessions of Go's own client.
func sessionsOf(s *sim.Simulator, agent string) (n int) {
	for of, count := range s.HTTPSessions() {
		if strings.HasPrefix(of, agent) {
			n += count
		}
	}
	return n
}

func TestEveryRequestWithoutACookieBeginsASession(t *testing.T) {
	s, p := start(t, sim.Options{HTTPSessions: 4})
	const stranger = "Go-http-client"
	for range 3 {
		post(t, s.URL, "urn:vim25/9.0.0.0")
	}
	if n := sessionsOf(s, stranger); n != 3 {
		t.Errorf("%d sessions, want 3", n)
	}
	if res, body := post(t, s.URL, "urn:vim25/9.0.0.0"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("there is room for a fifth session: %s %s", res.Status, body)
	}
	// An existing session continues, and a file needs none.
	_, err := p.VMs(t.Context())
	must(t, err)
	res, err := http.Get(s.URL + "/vimServiceVersions.xml")
	must(t, err)
	must(t, res.Body.Close())
	if res.StatusCode != http.StatusOK || sessionsOf(s, stranger) != 3 {
		t.Errorf("a file: %s, %d sessions", res.Status, sessionsOf(s, stranger))
	}
}

func TestALoginTakesOverTheSessionThatItBeganIn(t *testing.T) {
	s, _ := start(t, sim.Options{})
	if n := sessionsOf(s, sim.UserAgent); n != 1 {
		t.Errorf("a login has %d sessions", n)
	}
}

func TestAnIdleSessionEndsWithAndWithoutALogin(t *testing.T) {
	s, p := start(t, sim.Options{IdleTimeout: 300 * time.Millisecond})
	post(t, s.URL, "urn:vim25/9.0.0.0")
	await.Until(t, "idle sessions to end", func(context.Context) (bool, error) { return len(s.HTTPSessions()) == 0, nil })
	if _, err := p.VMs(t.Context()); !fault.Is(err, &types.NotAuthenticated{}) {
		t.Errorf("a call of a session that has ended: %v", err)
	}
}
