package trust

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// The model has replicas, members, a hub and cert-manager on virtual time. Every observation of another part is late by up
// to lag; a volume's files by up to fileLag. Each replica decides on its own observations, the leader writes, and for a
// while two replicas can act as leader.
const (
	tick     = 10 * time.Second
	lag      = 30 * time.Second
	fileLag  = 2 * time.Minute
	patience = 15 * time.Second // until an unresponsive replica counts as dead
	leafLife = 200 * time.Minute
	caLife   = 3000 * time.Minute
)

var modelLimits = Limits{Settle: 90 * time.Second, Overlap: 4 * time.Minute, Lost: 50 * time.Minute}

// channel is a source of observations of a replica.
type channel int

const (
	secret channel = iota
	acks
	publications
	authoritySecret
	files
	channels
)

type modelReplica struct {
	process string
	// stopped processes do nothing, cut ones serve members and see nothing of the hub.
	stopped, cut bool
	since        time.Time // of stopped or cut
	returned     time.Time
	// behind is the time since when it lacks an observation.
	behind [channels]time.Time

	state        State
	version      int
	acks         map[string]string
	publications []Replica
	authority    Authority
	file         *Leaf
	memory       Memory
}

type modelMember struct {
	reachable bool
	// installed is the trust of its API server, nil before there is a webhook configuration.
	installed []Authority
	// applied is the hash that was applied there and is not in the status yet.
	applied, acked string
	// away is when it was last unreachable.
	away time.Time
	// excused is set when a leaf was served that the member was known not to accept, until it does.
	excused bool
}

type publication struct {
	serving Serving
	dead    time.Time // when its process ended or became unresponsive, zero while it lives
}

type model struct {
	t            *rapid.T
	now          time.Time
	store        State
	version      int
	ca           Authority
	cas          map[string]Authority // all of them
	leaf         *Leaf
	issued       int
	replicas     []*modelReplica
	members      []*modelMember
	publications map[string]*publication
	leader       int
	// formerly also acts as leader for a moment.
	formerly    int
	leaderSince time.Time
	// leaderless is the last time when no replica could lead: all were stopped or cut off.
	leaderless   time.Time
	switches     int
	pruned       int
	forcedCount  int
	handshakesOK int
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), publications: map[string]*publication{}, cas: map[string]Authority{}, formerly: -1}
	m.renewCA()
	m.renewLeaf()
	for i := range rapid.IntRange(1, 3).Draw(t, "replicas") {
		m.replicas = append(m.replicas, &modelReplica{})
		m.boot(i)
	}
	for range rapid.IntRange(1, 3).Draw(t, "members") {
		m.members = append(m.members, &modelMember{reachable: true})
	}
	// The installation is complete: a leader has chosen, and all have observed it.
	m.advance(2 * lag)
	return m
}

func (m *model) renewCA() {
	m.issued++
	m.ca = Authority{Hash: fmt.Sprintf("ca-%d", m.issued), NotBefore: m.now, NotAfter: m.now.Add(caLife)}
	m.cas[m.ca.Hash] = m.ca
	m.changed(authoritySecret)
}

func (m *model) renewLeaf() {
	m.issued++
	m.leaf = &Leaf{
		Fingerprint: fmt.Sprintf("leaf-%d", m.issued), NotBefore: m.now, NotAfter: m.now.Add(leafLife), Signers: []string{m.ca.Hash},
	}
	m.changed(files)
}

// changed records that all replicas lack an observation.
func (m *model) changed(c channel) {
	for _, r := range m.replicas {
		if r.behind[c].IsZero() {
			r.behind[c] = m.now
		}
	}
}

// boot starts a new process, which reads everything before it serves.
func (m *model) boot(i int) {
	r := m.replicas[i]
	if old := m.publications[r.process]; old != nil && old.dead.IsZero() {
		old.dead = m.now
	}
	m.issued++
	*r = modelReplica{process: fmt.Sprintf("process-%d", m.issued)}
	for c := range channels {
		m.learn(r, c)
	}
	m.publish(r)
}

func (m *model) learn(r *modelReplica, c channel) {
	r.behind[c] = time.Time{}
	switch c {
	case secret:
		r.state, r.version = m.store, m.version
		m.publish(r)
	case acks:
		r.acks = map[string]string{}
		for j, member := range m.members {
			r.acks[memberName(j)] = member.acked
		}
	case publications:
		r.publications = nil
		for _, process := range slices.Sorted(maps.Keys(m.publications)) {
			if b := m.publications[process]; b.dead.IsZero() || m.now.Before(b.dead.Add(patience)) {
				r.publications = append(r.publications, Replica{Process: process, Serving: b.serving})
			}
		}
	case authoritySecret:
		r.authority = m.ca
	case files:
		r.file = m.leaf
		m.publish(r)
	}
}

func (m *model) publish(r *modelReplica) {
	if r.process == "" {
		return
	}
	b := m.publications[r.process]
	if b == nil {
		b = &publication{}
		m.publications[r.process] = b
	}
	if s := ServingLeaf(r.serving()); s != b.serving {
		b.serving = s
		m.changed(publications)
	}
}

// works reports whether the process does anything that the hub sees.
func (r *modelReplica) works() bool { return !r.stopped && !r.cut }

// serving does the work of serving.Keeper.
func (r *modelReplica) serving() *Leaf {
	if r.state.Served != nil {
		return r.state.Served
	}
	return r.file
}

func memberName(j int) string { return fmt.Sprintf("member-%d", j) }

func (m *model) leads(i int) bool {
	return i == m.leader || i == m.formerly && m.now.Before(m.leaderSince.Add(lag))
}

// step does the work of a Rotator on a replica.
func (m *model) step(i int) {
	r := m.replicas[i]
	if !r.works() {
		return
	}
	in := Input{
		Now: m.now, Limits: modelLimits, Stored: r.state, Current: []Authority{r.authority}, Offered: r.file, Replicas: r.publications,
	}
	if signer := m.cas[r.file.Signers[0]]; signer.Hash != r.authority.Hash { // ca.crt beside the leaf
		in.Current = append(in.Current, signer)
	}
	for j, member := range m.members {
		in.Members = append(in.Members, Member{Name: memberName(j), Acked: r.acks[memberName(j)], Reachable: member.reachable})
	}
	decision, memory := Decide(in, r.memory)
	r.memory = memory
	if !m.leads(i) || !decision.Changed || r.version != m.version {
		return
	}
	if served := m.store.Served; decision.Switched && served != nil && !m.now.Before(served.NotAfter) {
		if m.now.Sub(m.leaderless) > 5*lag {
			m.t.Fatalf("%s: %s expired although there always was a leader", m.now.Format(time.TimeOnly), served.Fingerprint)
		}
		for _, member := range m.members {
			member.excused = true // it fails with any leaf
		}
	}
	m.store, m.version = decision.State, m.version+1
	m.changed(secret)
	m.pruned += len(decision.Pruned)
	if decision.Switched {
		m.switches++
	}
	for _, name := range decision.Forced {
		for j, member := range m.members {
			if memberName(j) == name {
				m.forcedCount++
				member.excused = true
				if now := m.now; member.reachable && now.Sub(member.away) > 5*time.Minute && now.Sub(m.leaderless) > 5*time.Minute {
					m.t.Fatalf("%s: %s was given up although it could be reached", m.now.Format(time.TimeOnly), name)
				}
			}
		}
	}
}

// push does the work of the member controller of a leading replica.
func (m *model) push(i, j int) {
	r, member := m.replicas[i], m.members[j]
	if !r.works() || !m.leads(i) || !member.reachable || len(r.state.Authorities) == 0 {
		return
	}
	member.installed, member.applied = r.state.Authorities, BundleHash(r.state.Authorities)
}

func (m *model) acknowledge(j int) {
	if member := m.members[j]; member.applied != member.acked {
		member.acked = member.applied
		m.changed(acks)
	}
}

// advance lets time pass, and runs everything that must not be late.
func (m *model) advance(by time.Duration) {
	for end := m.now.Add(by); m.now.Before(end); {
		m.now = m.now.Add(tick)
		if m.ca.NotAfter.Sub(m.now) < leafLife+30*time.Minute {
			m.renewCA()
		}
		if m.leaf.NotAfter.Sub(m.now) < leafLife/3 {
			m.renewLeaf()
		}
		m.boardsOfDead()
		m.elect()
		for i, r := range m.replicas {
			if !r.works() && m.now.Sub(r.since) > modelLimits.Lost-5*time.Minute {
				m.back(r)
			}
			for c, since := range r.behind {
				most := lag
				if channel(c) == files {
					most = fileLag
				}
				if r.works() && !since.IsZero() && m.now.Sub(since) >= most {
					m.learn(r, channel(c))
				}
			}
			m.step(i)
		}
		for j, member := range m.members {
			if !member.reachable {
				member.away = m.now
			}
			m.acknowledge(j)
			m.push(m.leader, j)
		}
		m.check()
	}
}

// elect replaces a leader that counts as dead. That one does not act as leader when it returns: by its own clock its term is
// over.
func (m *model) elect() {
	leader := m.replicas[m.leader]
	if leader.works() {
		return
	}
	m.leaderless = m.now
	for i, r := range m.replicas {
		if r.works() && m.now.Sub(leader.since) > patience && m.now.Sub(r.returned) > lag {
			m.formerly, m.leader = -1, i
		}
	}
}

// boardsOfDead removes the state of processes that count as dead.
func (m *model) boardsOfDead() {
	for process, b := range m.publications {
		if !b.dead.IsZero() && !m.now.Before(b.dead.Add(patience)) {
			delete(m.publications, process)
			m.changed(publications)
		}
	}
}

func (m *model) back(r *modelReplica) {
	if r.works() {
		return
	}
	r.stopped, r.cut, r.returned = false, false, m.now
	m.publications[r.process] = &publication{serving: ServingLeaf(r.serving())}
	m.changed(publications)
}

func (m *model) away(r *modelReplica) {
	// One that was not seen to return has been away all the time.
	if m.now.Sub(r.returned) > 2*lag {
		r.since = m.now
	}
	if b := m.publications[r.process]; b != nil {
		b.dead = m.now
	}
}

// check is the purpose of the model: a client that trusts the distributed bundle accepts the leaf of every replica.
func (m *model) check() {
	for j, member := range m.members {
		if member.installed == nil {
			continue
		}
		if s := m.store.Served; s != nil && s.usable(member.installed, m.now) {
			member.excused = false
		}
		for _, r := range m.replicas {
			leaf := r.serving()
			if r.stopped || member.excused {
				continue
			}
			if leaf.usable(member.installed, m.now) {
				m.handshakesOK++
				continue
			}
			if !m.now.Before(leaf.NotAfter) && (r.cut || m.now.Sub(m.leaderless) < 3*lag || m.now.Sub(r.returned) < 3*lag) {
				continue // no replica could report it in time
			}
			m.t.Fatalf("%s: %s trusts %v and does not accept %s by %v, which %s serves until %s",
				m.now.Format(time.TimeOnly), memberName(j), names(member.installed), leaf.Fingerprint, leaf.Signers, r.process, leaf.NotAfter.Format(time.TimeOnly))
		}
	}
	for _, a := range m.store.Authorities {
		if m.now.Sub(a.NotAfter) > 2*time.Minute {
			m.t.Fatalf("%s is kept although it has expired", a.Hash)
		}
	}
	if len(m.store.Authorities) > 60 {
		m.t.Fatalf("members trust %d authorities, want 60 at most", len(m.store.Authorities))
	}
}

func names(all []Authority) []string {
	hashes := make([]string, 0, len(all))
	for _, a := range all {
		hashes = append(hashes, a.Hash)
	}
	return hashes
}
