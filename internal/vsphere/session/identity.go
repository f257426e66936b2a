package session

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

// Identity says whose sessions these are, as they show in vCenter's session list.
type Identity struct {
	// Installation of the operator and name of the VCenter object. Empty ones mean that sessions are not told apart:
	// then none is ever ended but a Session's own.
	Installation, VCenter string
	// Process that logs in.
	Process *Process
}

// Process is this run of the program. One is shared by all Sessions.
type Process struct {
	// Boot is unique to this run.
	Boot string
	// Boots say of which other runs the sessions can be ended; nil says of none. No boot is dead while this run itself may not act: a process that was paused
	// and overtaken logs in again when it continues, and must not end the session of its successor. See [Session.EndLeftovers] for asking again.
	Boots logins.Boots

	mu   sync.Mutex
	last int
	open map[int]bool
}

// begin numbers a new Session.
func (p *Process) begin() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[int]bool{}
	}
	p.last++
	p.open[p.last] = true
	return p.last
}

func (p *Process) end(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, number)
}

func (p *Process) isOpen(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open[number]
}

// mark is what a Session adds to its user agent, by which it is recognized in vCenter's session list.
type mark struct {
	installation, vcenter, boot string
	number                      int
}

const markFormat = "(installation %s; vcenter %s; boot %s; session %d)"

// markOf returns the mark of a new Session, or false if it has none.
func (i Identity) markOf(number int) (mark, bool) {
	if i.Installation == "" || i.VCenter == "" || i.Process == nil {
		return mark{}, false
	}
	return mark{i.Installation, i.VCenter, i.Process.Boot, number}, true
}

func (m mark) String() string {
	return fmt.Sprintf(markFormat, m.installation, m.vcenter, m.boot, m.number)
}

// parseMark reads the mark at the end of a user agent.
func parseMark(userAgent string) (mark, bool) {
	begin := strings.LastIndex(userAgent, "(")
	if begin < 0 || !strings.HasSuffix(userAgent, ")") {
		return mark{}, false
	}
	var m mark
	values := map[string]*string{"installation": &m.installation, "vcenter": &m.vcenter, "boot": &m.boot}
	number := ""
	values["session"] = &number
	for field := range strings.SplitSeq(userAgent[begin+1:len(userAgent)-1], "; ") {
		key, value, ok := strings.Cut(field, " ")
		target := values[key]
		if !ok || target == nil {
			return mark{}, false
		}
		*target = value
		delete(values, key)
	}
	n, err := strconv.Atoi(number)
	m.number = n
	return m, err == nil && len(values) == 0
}

// stale reports whether a session with mark m is left over: of a dead process, or of a Session of this process that is
// closed, or of this very Session, whose login was repeated because the reply was lost. Sessions of another
// installation or VCenter are somebody else's.
func (i Identity) stale(own, m mark) bool {
	switch {
	case m.installation != own.installation || m.vcenter != own.vcenter:
		return false
	case m.boot != own.boot:
		return i.Process.Boots != nil && i.Process.Boots.BootDead(m.boot)
	default:
		return m.number == own.number || !i.Process.isOpen(m.number)
	}
}
