package trust

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// act does one random action.
func (m *model) act(t *rapid.T) {
	r := m.replicas[rapid.IntRange(0, len(m.replicas)-1).Draw(t, "replica")]
	j := rapid.IntRange(0, len(m.members)-1).Draw(t, "member")
	actions := []struct {
		name string
		do   func()
	}{
		{"renew the authority", m.renewCA},
		{"renew the leaf", m.renewLeaf},
		{"renew both", func() { m.renewCA(); m.renewLeaf() }},
		{"start the process anew", func() { m.boot(m.index(r)) }},
		{"stop the process, as a sleeping machine does", func() { r.stopped = m.leave(r) || r.stopped }},
		{"cut the process off from the hub, but not from the members", func() { r.cut = m.leave(r) || r.cut }},
		{"come back", func() {
			if m.index(r) != m.leader {
				m.back(r)
			}
		}},
		{"cut the member off, or end that", func() {
			m.members[j].reachable = !m.members[j].reachable
			m.members[j].away = m.now
		}},
		{"lead", func() { m.takeLead(r) }},
		{"look", func() { m.step(m.index(r)) }},
		{"push", func() { m.push(m.index(r), j) }},
		{"acknowledge", func() { m.acknowledge(j) }},
		{"learn", func() {
			if c := channel(rapid.IntRange(0, int(channels)-1).Draw(t, "channel")); r.works() {
				m.learn(r, c)
			}
		}},
		{"wait", func() {
			ticks := rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(100, 900)).Draw(t, "ticks")
			m.advance(time.Duration(ticks) * tick)
		}},
	}
	action := actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]
	action.do()
	m.check()
}

func (m *model) index(r *modelReplica) int { return slices.Index(m.replicas, r) }

// leave reports whether a process vanishes now. Replicas cannot know about one that was never seen.
func (m *model) leave(r *modelReplica) bool {
	if !r.works() || !r.behind[publications].IsZero() || !m.seen(r.process) {
		return false
	}
	m.away(r)
	return true
}

// takeLead makes a replica the leader; the former one still acts as leader for a moment. A replica that has just returned
// needs a new session first.
func (m *model) takeLead(r *modelReplica) {
	if i := m.index(r); i != m.leader && r.works() && m.now.Sub(r.returned) > lag {
		m.formerly, m.leader, m.leaderSince = m.leader, i, m.now
	}
}

// seen reports whether all other live processes have seen a process.
func (m *model) seen(process string) bool {
	for _, r := range m.replicas {
		if r.works() && !slices.ContainsFunc(r.publications, func(b Replica) bool { return b.Process == process }) {
			return false
		}
	}
	return true
}

func TestNoAcknowledgedMemberEverFailsToVerify(t *testing.T) {
	var switches, pruned, forced, handshakes int
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 80).Draw(t, "actions") {
			m.act(t)
		}
		m.settle()
		switches, pruned, forced, handshakes = switches+m.switches, pruned+m.pruned, forced+m.forcedCount, handshakes+m.handshakesOK
	})
	t.Logf("%d handshakes, %d switches of the leaf, %d of them for members given up, %d authorities taken out", handshakes, switches, forced, pruned)
	if switches == 0 || pruned == 0 || handshakes == 0 {
		t.Error("the model did nothing that is worth checking")
	}
}

// settle lets all replicas return and checks that the model reaches its final state.
func (m *model) settle() {
	for _, r := range m.replicas {
		m.back(r)
	}
	for _, member := range m.members {
		member.reachable = true
	}
	m.advance(modelLimits.Lost + 20*time.Minute)
	if m.store.Served.Fingerprint != m.leaf.Fingerprint && m.now.Sub(m.leaf.NotBefore) > 10*time.Minute {
		m.t.Errorf("%s is served and not %s, which has been there since %s", m.store.Served.Fingerprint, m.leaf.Fingerprint, m.leaf.NotBefore)
	}
	// Two are correct while a leaf of the last authority has not been issued yet.
	for _, a := range m.store.Authorities {
		if a.Hash != m.ca.Hash && !slices.Contains(m.store.Served.Signers, a.Hash) && m.now.Sub(m.leaf.NotBefore) > modelLimits.Lost+10*time.Minute {
			m.t.Errorf("%s is still among the authorities: %v", a.Hash, names(m.store.Authorities))
		}
	}
	for j, member := range m.members {
		if member.excused {
			m.t.Errorf("%s came back and still does not accept the leaf", memberName(j))
		}
	}
}
