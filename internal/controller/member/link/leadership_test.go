package link

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
)

// A replica serves what the hub grants, and observes that with a delay: until then, it can serve another MemberCluster of the
// cluster.
func TestAReplicaLearnsFromTheHubWhichMemberClusterGoesFirst(t *testing.T) {
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet()})
	if err != nil {
		t.Fatal(err)
	}
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	younger := newConnection(p, settings.Target{Name: "younger", Created: at(2)}, nil)
	p.connections["younger"] = younger
	p.Seed("younger", join.Identity{ClusterUID: "uid", Pinned: false, Created: at(2)})
	if err := p.acquire(younger, "uid"); err != nil {
		t.Fatal(err)
	}
	p.Seed("older", join.Identity{ClusterUID: "", Pinned: false, Created: at(1)}) // the leader has not granted it a cluster
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Fatalf("elder = %q", elder)
	}
	p.Seed("older", join.Identity{ClusterUID: "uid", Pinned: false, Created: at(1)})
	select {
	case <-younger.poke:
	default:
		t.Error("the younger one is not woken")
	}
	if elder := p.elder(younger, "uid"); elder != "older" {
		t.Errorf("elder = %q, the leader serves the older one", elder)
	}
	p.Seed("younger", join.Identity{ClusterUID: "uid", Pinned: true, Created: at(2)}) // it is the one that was pinned
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Errorf("elder = %q, which is not pinned", elder)
	}
	p.Seed("younger", join.Identity{ClusterUID: "uid", Pinned: false, Created: at(2)})
	p.Seed("older", join.Identity{ClusterUID: "", Pinned: false, Created: at(1)}) // refused
	if elder := p.elder(younger, "uid"); elder != "" {
		t.Errorf("elder = %q, which may not have the cluster any more", elder)
	}
}

// With pauses of minutes the test would have to wait for the next check.
func TestANewLeaderWakesItsConnections(t *testing.T) {
	leads := shardingtest.Leader(true)
	p, err := NewProvider(settings.Options{Namespace: "operator", InstallationUID: "one", Fleet: newFleet(), Leader: &leads})
	if err != nil {
		t.Fatal(err)
	}
	c := newConnection(p, settings.Target{Name: "alpha"}, nil)
	p.connections["alpha"] = c
	woken := func() bool {
		select {
		case <-c.poke:
			return true
		default:
			return false
		}
	}
	p.Ensure(c.target, false)
	if woken() || c.Leading() {
		t.Error("before the finalizer is there the member is written to")
	}
	p.Ensure(c.target, true)
	if !woken() || !c.Leading() {
		t.Error("the connection was not notified to bootstrap the member")
	}
	p.Ensure(c.target, true)
	if woken() {
		t.Error("each pass of the leader wakes the connection")
	}
	leads = false
	if c.Leading() {
		t.Error("a replica writes between the loss of the leadership and its next pass")
	}
}
