package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Gate is what VMs have to pass to be ready, and since when they are judged by it. The zero value is PoweredOn alone, which every gate implies.
type Gate struct {
	// Name of the gate, with a hash of what the guest has to publish.
	Name  string
	Since time.Time
}

// gateOf is the gate of this look. It counts from now on if it asks for more than the one that status records: since when a VM passes it, nobody has seen.
func gateOf(in *Input, s settings) (g Gate, changes bool) {
	g.Name = gateName(s.gate, s.guestInfo)
	was := in.Gate
	switch {
	case g.Name == "":
		return g, false
	case implies(was.Name, g.Name) && !was.Since.After(in.Now): // else it was recorded by a clock that ran ahead
		g.Since = was.Since
		return g, false
	}
	g.Since = in.Now
	return g, true
}

func gateName(gate v1alpha1.ReadinessGate, g *v1alpha1.GuestInfoGate) string {
	name := ""
	if gate != v1alpha1.GatePoweredOn {
		name = string(gate)
	}
	if g != nil {
		sum := sha256.Sum256([]byte(g.Key + "\x00" + g.Value))
		name += "+" + hex.EncodeToString(sum[:5])
	}
	return name
}

// implies is true where a VM that passes one gate passes the other as well.
func implies(one, other string) bool {
	has, published, _ := strings.Cut(one, "+")
	gate, value, _ := strings.Cut(other, "+")
	return (gate == "" || gate == has) && (value == "" || value == published)
}

// availableAt is when a VM that is ready since then is available: it has to pass the gate of spec for long enough.
func (p *planner) availableAt(readySince time.Time) time.Time {
	if p.gate.Since.After(readySince) {
		readySince = p.gate.Since
	}
	return readySince.Add(p.spec.minReady)
}

// counts says whether a VM that passes its gate has passed it for long enough.
func (p *planner) counts(m *member) {
	at := p.availableAt(m.status.ReadySince)
	m.status.Available = !at.After(p.in.Now)
	m.byFormerGate = !m.status.Available && !m.status.ReadySince.Add(p.spec.minReady).After(p.in.Now)
	p.wake(at)
}

// serves is true for a VM that is available, and for one that was before spec got another gate. To take the latter away costs as much, and nothing may be taken away
// because of it.
func (m *member) serves() bool { return m.status.Available || m.byFormerGate }
