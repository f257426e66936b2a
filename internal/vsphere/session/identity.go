package session

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

// Identity identifies the owner of sessions in vCenter's session list.
type Identity struct {
	// Installation is the operator's installation, and VCenter the name of the VCenter object. If they are empty, sessions are not distinguishable, and a
	// Session ends none but its own.
	Installation, VCenter string
	// Process that logs in.
	Process *Process
}

// Process is this run of the program. All Sessions share it.
type Process struct {
	// Boot is unique to this run.
	Boot string
	// Boots reports which other runs have ended, so that their sessions can be ended. Nil reports none. While this run itself must not act, no boot is dead:
	// a process that was paused and replaced logs in again when it continues, and must not end the session of its successor. See [Session.EndLeftovers] for
	// repeated queries.
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

// mark is the part of a Session's user agent that identifies the Session in vCenter's session list.
type mark struct {
	installation, vcenter, boot string
	number                      int
}

const markFormat = "(installation %s; vcenter %s; boot %s; session %d)"

// markOf returns the mark of a new Session, or false without an identity.
func (i Identity) markOf(number int) (mark, bool) {
	if i.Installation == "" || i.VCenter == "" || i.Process == nil {
		return mark{}, false
	}
	return mark{i.Installation, i.VCenter, i.Process.Boot, number}, true
}

func (m mark) String() string {
	return fmt.Sprintf(markFormat, m.installation, m.vcenter, m.boot, m.number)
}

// parseMark parses the mark at the end of a user agent.
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

// stale reports whether a session with mark m is left over: from a dead process, from a closed Session of this process, or from this Session, whose login
// was repeated after a lost reply. Sessions of another installation or VCenter belong to others.
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
