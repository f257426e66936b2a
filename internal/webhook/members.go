package webhook

import (
	"net/http"
	"strings"
	"time"
)

// members serves the port that members' API servers reach. Any other client can reach it too. A caller without a member's segment
// gets the same response for every path and method, after the same amount of work: only the request line is read. It is not an
// http.ServeMux: that one redirects some paths, and reveals the methods of others.
type members struct {
	segments Segments
	webhooks map[string]*endpoint
	*front
}

// ServeHTTP answers a call of a member.
func (m *members) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	// Split with the same cost for every path.
	member, segment, name := pathOf(r.URL.Path)
	// Called for every path, including those that no member can have.
	known := m.segments.Knows(member, segment)
	webhook := m.webhooks[name]
	if !known || webhook == nil || r.Method != http.MethodPost {
		m.refuse(w, start)
		return
	}
	webhook.serve(w, r, member, start)
}

// pathOf splits /clusters/{member}/{segment}/{webhook}. For any other path, the webhook is empty, and the other results belong to no
// member.
func pathOf(path string) (member, segment, webhook string) {
	parts := strings.SplitN(path, "/", 6)
	if len(parts) != 5 || parts[0] != "" || parts[1] != "clusters" {
		return "", path, ""
	}
	return parts[2], parts[3], parts[4]
}

// hubKinds serves the port for the operator's own kinds, which only the hub's API server calls.
type hubKinds struct {
	webhooks map[string]*endpoint // by path
	*front
}

// ServeHTTP answers a call of the hub's API server.
func (h *hubKinds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	webhook := h.webhooks[r.URL.Path]
	if webhook == nil || r.Method != http.MethodPost {
		h.refuse(w, start)
		return
	}
	webhook.serve(w, r, "", start)
}

// refuse answers a call without a valid path. It does not wait for the body of the request.
func (f *front) refuse(w http.ResponseWriter, start time.Time) {
	f.metrics.observe("", "", notFound, time.Since(start))
	answer{verdict: notFound, status: http.StatusNotFound, text: "404 page not found", hangUp: true}.write(w, f.bodyTimeout)
}
