package session

import (
	"net/http"
	"sync"
)

// mostCookies and longestCookie limit the cookies that a server can make the client keep and send back. vCenter sets one, and a load balancer in
// front can set another.
const (
	mostCookies   = 16
	longestCookie = 4 * kib
)

// cookies are the cookies that a server has set.
type cookies struct {
	mu   sync.Mutex
	seen map[cookie]bool
}

type cookie struct{ name, path, domain string }

// filter removes excess cookies from the header of an answer.
func (c *cookies) filter(header http.Header) {
	lines := header["Set-Cookie"]
	if len(lines) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := lines[:0]
	for _, line := range lines {
		if len(line) <= longestCookie && c.admit(line) {
			kept = append(kept, line)
		}
	}
	header["Set-Cookie"] = kept
}

func (c *cookies) admit(line string) bool {
	set, err := http.ParseSetCookie(line)
	if err != nil {
		return false
	}
	key := cookie{set.Name, set.Path, set.Domain}
	if !c.seen[key] && len(c.seen) >= mostCookies {
		return false
	}
	if c.seen == nil {
		c.seen = map[cookie]bool{}
	}
	c.seen[key] = true
	return true
}
