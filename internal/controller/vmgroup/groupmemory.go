package vmgroup

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/group"
)

// groupMemory is the part of memory that is about the group of one pass. It implements effect.Memory.
type groupMemory struct {
	*memory
	of object
	// tenure of the bucket of the group, and restores of the storage of its member, under which a write is stored.
	tenure, restores uint64
}

// Wrote implements effect.Memory.
func (g *groupMemory) Wrote(resourceVersion string) {
	g.change(g.of, func(m *remembered) {
		m.tenure, m.resourceVersion, m.restores, m.written = g.tenure, resourceVersion, g.restores, true
	})
}

// WroteStatus implements effect.Memory.
func (g *groupMemory) WroteStatus(resourceVersion string, at time.Time) {
	g.change(g.of, func(m *remembered) {
		m.tenure, m.resourceVersion, m.restores, m.reported, m.written = g.tenure, resourceVersion, g.restores, at, true
	})
}

// Claim implements effect.Memory.
func (g *groupMemory) Claim(c effect.Claim) {
	g.change(g.of, func(m *remembered) { m.adoption = &c })
}

// RecordPace implements effect.Memory.
func (g *groupMemory) RecordPace() effect.RecordPace { return g.memory.of(g.of).records }

// SetRecordPace implements effect.Memory.
func (g *groupMemory) SetRecordPace(pace effect.RecordPace) {
	g.change(g.of, func(m *remembered) { m.records = pace })
}

// DeletionSeen implements effect.Memory.
func (g *groupMemory) DeletionSeen(now time.Time) time.Time { return g.deletionSeen(g.of, now) }

// Definition implements effect.Memory.
func (g *groupMemory) Definition() (effect.DefinitionSeen, bool) { return g.definition(g.member()) }

// SeeDefinition implements effect.Memory.
func (g *groupMemory) SeeDefinition(d effect.DefinitionSeen) { g.seeDefinition(g.member(), d) }

// Raised implements effect.Memory.
func (g *groupMemory) Raised() group.Raise { return g.raised(g.member()) }

// Raise implements effect.Memory.
func (g *groupMemory) Raise(r group.Raise) { g.raise(g.member(), r) }

// member is the UID of the member of the group.
func (g *groupMemory) member() string { return g.of.key.Member() }
