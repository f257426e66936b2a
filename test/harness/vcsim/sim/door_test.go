package sim_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const whoAreYou = `<?xml version="1.0"?><Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>` +
	`<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent></Body></Envelope>`

// post sends one call without a login, and returns the answer with its body.
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
