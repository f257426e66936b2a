package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Gate is the readiness gate that VMs must pass, and the time since when it applies. The zero value is PoweredOn alone, which every gate implies.
type Gate struct {
	// Name of the gate, with a hash of the value that the guest must publish.
	Name  string
	Since time.Time
}

// gateOf returns the gate of this run. If the gate asks for more than the recorded one, it applies from now on: the time since when a VM passes it is unknown.
func gateOf(in *Input, s settings) (g Gate, changes bool) {
	g.Name = gateName(s.gate, s.guestInfo)
	was := in.Gate
	switch {
	case g.Name == "":
		return g, false
	case implies(was.Name, g.Name) && !was.Since.After(in.Now): // otherwise a clock that ran ahead recorded it
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

// implies is true if a VM that passes one gate also passes the other.
func implies(one, other string) bool {
	has, published, _ := strings.Cut(one, "+")
	gate, value, _ := strings.Cut(other, "+")
	return (gate == "" || gate == has) && (value == "" || value == published)
}

// availableAt returns when a VM with this ReadySince becomes available: it must pass the gate for minReadySeconds.
func (p *planner) availableAt(readySince time.Time) time.Time {
	if p.gate.Since.After(readySince) {
		readySince = p.gate.Since
	}
	return readySince.Add(p.spec.minReady)
}

// counts sets whether a VM that passes its gate has passed it for minReadySeconds.
func (p *planner) counts(m *member) {
	at := p.availableAt(m.status.ReadySince)
	m.status.Available = !at.After(p.in.Now)
	m.byFormerGate = !m.status.Available && !m.status.ReadySince.Add(p.spec.minReady).After(p.in.Now)
	p.wake(at)
}

// serves is true for a VM that is available. It is also true for one that was available before spec got another gate or before its guest was asked to shut down: taking it away
// costs as much, and its unavailability allows no other removal.
func (m *member) serves() bool { return m.status.Available || m.byFormerGate || m.mayFollow }
