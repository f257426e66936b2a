package sim

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// mostHTTPSessions is how many sessions vpxd holds, those included that never logged in.
	mostHTTPSessions = 2000
	// defaultIdleTimeout is after how long vpxd ends a session that nobody uses.
	defaultIdleTimeout = 30 * time.Minute
)

// httpSessions are the sessions that begin with a request without a cookie, and have not logged in. Those that have are the simulator's.
type httpSessions struct {
	registry *simulator.Registry
	idle     time.Duration
	most     int

	mu        sync.Mutex
	strangers map[string]stranger
}

// stranger is a session without a login.
type stranger struct {
	agent string
	used  time.Time
}

// enter finds the session of a request, or begins one; it reports false if there is no room for it. A cookie that is not known any more begins none.
func (h *httpSessions) enter(w http.ResponseWriter, r *http.Request) bool {
	logins := h.logins()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget()
	id := cookieOf(r)
	if _, known := h.strangers[id]; known {
		h.strangers[id] = stranger{r.UserAgent(), time.Now()}
	}
	if id != "" {
		return true
	}
	if len(h.strangers)+len(logins) >= h.most {
		return false
	}
	id = uuid.NewString()
	h.strangers[id] = stranger{r.UserAgent(), time.Now()}
	cookie := &http.Cookie{Name: soap.SessionCookieName, Value: id, Path: "/", HttpOnly: true} //nolint:gosec // a simulator may be reached by http
	http.SetCookie(w, cookie)
	r.AddCookie(cookie)
	return true
}

// leave forgets the session of a request that has logged in: the simulator has given it another cookie.
func (h *httpSessions) leave(header http.Header, r *http.Request) {
	given := header.Values("Set-Cookie")
	if len(given) == 0 {
		return
	}
	id := cookieOf(r)
	if !strings.HasPrefix(given[len(given)-1], soap.SessionCookieName+"="+id) {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.strangers, id)
	}
}

func (h *httpSessions) forget() {
	for id, s := range h.strangers {
		if time.Since(s.used) > h.idle {
			delete(h.strangers, id)
		}
	}
}

// logins returns those that the simulator has, and ends the ones that are idle. The simulator can do that by itself, with a timer for each login.
func (h *httpSessions) logins() []types.UserSession {
	view := simulator.Session{Registry: simulator.NewRegistry(), Map: h.registry}
	manager, ok := view.Get(h.registry.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return nil
	}
	list := manager.SessionList
	return slices.DeleteFunc(list, func(login types.UserSession) bool {
		isIdle := time.Since(login.LastActiveTime) > h.idle
		if isIdle {
			h.terminate(login)
		}
		return isIdle
	})
}

func (h *httpSessions) terminate(login types.UserSession) {
	h.registry.SessionManager().TerminateSession(
		&simulator.Context{Session: &simulator.Session{}}, &types.TerminateSession{SessionId: []string{login.Key}})
}

// count returns the number of sessions by user agent.
func (h *httpSessions) count() map[string]int {
	out := map[string]int{}
	for _, login := range h.logins() {
		out[login.UserAgent]++
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget()
	for _, s := range h.strangers {
		out[s.agent]++
	}
	return out
}

func cookieOf(r *http.Request) string {
	id := ""
	for _, cookie := range r.CookiesNamed(soap.SessionCookieName) {
		id = cookie.Value
	}
	return id
}

// EndLogins ends all logins of the account of the program under test, as a restart of vCenter does. Logins are rejected
// then until the token service has started.
func (s *Simulator) EndLogins() {
	s.rules.access.starts()
	for _, login := range s.entrance.sessions.logins() {
		if login.UserName == s.Username() {
			s.entrance.sessions.terminate(login)
		}
	}
}

// HTTPSessions returns how many sessions the simulator holds, by the user agent of the client: logins, and what requests without a cookie began.
func (s *Simulator) HTTPSessions() map[string]int { return s.entrance.sessions.count() }
