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
	// mostHTTPSessions is vpxd's limit of sessions, including those that never logged in.
	mostHTTPSessions = 2000
	// defaultIdleTimeout is the idle time after which vpxd ends a session.
	defaultIdleTimeout = 30 * time.Minute
)

// httpSessions are the sessions that began with a request without a cookie and have not logged in. The simulator has the sessions that have.
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

// enter finds or begins the session of a request. If the limit is reached, it reports false. A request with an unknown cookie begins no session.
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

// leave forgets the session of a request that has logged in, because the simulator has given it another cookie.
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

// logins returns the simulator's sessions, and ends idle ones. The simulator can end them too, but with a timer for each login.
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

// EndLogins ends all logins of the account of the program under test, as a restart of vCenter does. Then it rejects logins until the token service
// has started.
func (s *Simulator) EndLogins() {
	s.rules.access.starts()
	for _, login := range s.entrance.sessions.logins() {
		if login.UserName == s.Username() {
			s.entrance.sessions.terminate(login)
		}
	}
}

// HTTPSessions returns the number of sessions by user agent, including those without a login.
func (s *Simulator) HTTPSessions() map[string]int { return s.entrance.sessions.count() }
