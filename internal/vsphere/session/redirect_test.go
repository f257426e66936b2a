package session_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestARedirectLeadsNowhere: a Secret specifies the vCenter of its password. A server that answers there must not
// redirect the operator to another, whose responses would be trusted.
func TestARedirectLeadsNowhere(t *testing.T) {
	vcenter, err := sim.Start(sim.Options{})
	must(t, err)
	t.Cleanup(vcenter.Close)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		// At once, and at the login, which contains the password.
		for _, at := range []string{"RetrieveServiceContent", "Login"} {
			t.Run(fmt.Sprint(status, " at ", at), func(t *testing.T) {
				var mu sync.Mutex
				var heard []string
				listener := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, r.Method+" "+string(body))
				}))
				defer listener.Close()
				door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if strings.Contains(string(body), "<"+at+" ") {
						http.Redirect(w, r, listener.URL, status)
						return
					}
					call, err := http.NewRequestWithContext(r.Context(), r.Method, vcenter.URL, strings.NewReader(string(body)))
					if err != nil {
						w.WriteHeader(http.StatusBadGateway)
						return
					}
					call.Header = r.Header.Clone()
					answer, err := http.DefaultClient.Do(call)
					if err != nil {
						w.WriteHeader(http.StatusBadGateway)
						return
					}
					defer func() { _ = answer.Body.Close() }()
					_, _ = io.Copy(w, answer.Body)
				}))
				defer door.Close()

				_, err := session.Open(t.Context(), config(door.URL))
				said := "spec.server has to name the vCenter itself"
				if status >= http.StatusTemporaryRedirect { // net/http does not call CheckRedirect for these, since the body cannot be sent again
					said = http.StatusText(status)
				}
				if err == nil || vsphere.KindOf(err) != vsphere.KindTransient || !strings.Contains(err.Error(), said) {
					t.Errorf("the error does not report the redirect: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if len(heard) > 0 {
					t.Errorf("where the redirect leads is asked: %q", heard)
				}
			})
		}
	}
}
