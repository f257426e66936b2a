package member

import (
	"testing"
	"time"
)

// Replica A reaches both names of a cluster, replica B only the younger one. What A finds comes to B by the status.
func TestAReplicaLearnsFromStatusWhichMemberClusterGoesFirst(t *testing.T) {
	p, err := NewProvider(Options{Namespace: "operator", InstallationUID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	connect := func(name string, created time.Time) *connection {
		c := newConnection(p, target{name: name, created: created}, p.connections[name])
		p.connections[name] = c
		return c
	}
	younger := connect("younger", at(2))
	if err := p.acquire(younger, "uid"); err != nil {
		t.Fatal(err)
	}
	p.seed("older", identity{"", at(1)}) // not known to the leader either
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Fatalf("elder = %q", elder)
	}
	p.seed("older", identity{"uid", at(1)})
	select {
	case <-younger.poke:
	default:
		t.Error("the younger one is not woken")
	}
	if elder := p.elder(younger, "uid"); elder != "older" {
		t.Errorf("elder = %q, the leader serves the older one", elder)
	}
	p.seed("older", identity{"another", at(1)}) // it leads to another cluster now
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Errorf("elder = %q, which is another cluster now", elder)
	}

	// What a connection found itself goes before a status that may be older, until it is replaced.
	own := connect("older", at(1))
	if err := p.acquire(own, "third"); err != nil {
		t.Fatal(err)
	}
	p.seed("older", identity{"uid", at(1)})
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Errorf("elder = %q by an old status", elder)
	}
	connect("older", at(1))
	p.seed("older", identity{"uid", at(1)})
	if elder := p.elder(younger, "uid"); elder != "older" {
		t.Errorf("elder = %q, the status counts until the new connection is through", elder)
	}
}

// With pauses of minutes nobody would want to wait for the next look.
func TestANewLeaderWakesItsConnections(t *testing.T) {
	leads := constantLeadership(true)
	p, err := NewProvider(Options{Namespace: "operator", InstallationUID: "one", Leadership: &leads})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(p, target{name: "alpha"}, nil)
	p.connections["alpha"] = c
	woken := func() bool {
		select {
		case <-c.poke:
			return true
		default:
			return false
		}
	}
	p.ensure(c.target, false)
	if woken() || c.mayWrite() {
		t.Error("before the finalizer is there the member is written to")
	}
	p.ensure(c.target, true)
	if !woken() || !c.mayWrite() {
		t.Error("the connection is not told that it has to bootstrap the member")
	}
	p.ensure(c.target, true)
	if woken() {
		t.Error("each pass of the leader wakes the connection")
	}
	leads = false
	if c.mayWrite() {
		t.Error("a replica writes between the loss of the leadership and its next pass")
	}
}

type constantLeadership bool

func (l *constantLeadership) Leading() bool { return bool(*l) }
