package webhook

import (
	"net/http"
	"strings"
	"time"
)

// members is the port that members' API servers reach, and so may anybody else. Who does not know a member's segment gets one
// and the same answer on every path, by every method, and after the same work: nothing of a request is looked at but its line.
// It is no http.ServeMux: that one redirects some paths and tells of others which methods they have.
type members struct {
	segments Segments
	webhooks map[string]*endpoint
	*front
}

// ServeHTTP answers a call of a member.
func (m *members) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	// Split so that it costs the same whatever the path looks like.
	member, segment, name := pathOf(r.URL.Path)
	// Asked of every path, also of those that no member can have.
	known := m.segments.Knows(member, segment)
	webhook := m.webhooks[name]
	if !known || webhook == nil || r.Method != http.MethodPost {
		m.refuse(w, start)
		return
	}
	webhook.serve(w, r, member, start)
}

// pathOf takes /clusters/{member}/{segment}/{webhook} apart. Of any other path the webhook is empty, and the rest is not a member's.
func pathOf(path string) (member, segment, webhook string) {
	parts := strings.SplitN(path, "/", 6)
	if len(parts) != 5 || parts[0] != "" || parts[1] != "clusters" {
		return "", path, ""
	}
	return parts[2], parts[3], parts[4]
}

// hubKinds is the port that only the hub's API server calls, about the operator's own kinds.
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

// refuse is the answer to a call that is for nobody. The body of the request is not waited for.
func (f *front) refuse(w http.ResponseWriter, start time.Time) {
	f.metrics.observe("", "", notFound, time.Since(start))
	answer{verdict: notFound, status: http.StatusNotFound, text: "404 page not found", hangUp: true}.write(w, f.bodyTimeout)
}
