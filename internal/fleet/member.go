package fleet

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
)

// State is how far a member is connected.
type State int

const (
	// Away members have no caches. Their groups are as last seen, and not known to be deleted.
	Away State = iota
	// Engaging members have caches, which controllers begin to read.
	Engaging
	// Engaged members deliver events of all their groups.
	Engaged
)

// Member is the data of one member cluster.
type Member struct {
	// Name of the MemberCluster, and UID of the cluster behind it.
	Name, UID string
	State     State
	// Silent is true while the member does not respond: it accepts no writes, and its caches can be outdated.
	Silent bool
	// Restores increases whenever the storage of the cluster is restored from a backup, before new caches of it exist.
	// Versions of objects seen with another number have no meaning. [Fleet.SetMember] ignores it.
	Restores uint64
	Settings
}

// Settings of a member change without a new connection.
type Settings struct {
	// Paused stops every action on the groups of the member.
	Paused bool
	// UserDataSecrets specifies whether groups can pass a Secret to their VMs.
	UserDataSecrets v1alpha1.UserDataSecrets
	// MassDeletion is how many VMs can be removed at once without confirmation. AllowedUntil is until when any number
	// can, or zero.
	MassDeletion massdeletion.Limit
	AllowedUntil time.Time
	// AdoptionUntil is until when groups can adopt VMs for which there is no receipt, or zero.
	AdoptionUntil time.Time
	// ForgetAllowed is until when groups whose VCenter is deleted can be forgotten, or zero.
	ForgetAllowed time.Time
	// AcceptAdmitted is until when the admitted values in status count if the hub has no record, or zero.
	AcceptAdmitted time.Time
	// Predecessor is the installation whose groups here this one takes over, or empty.
	Predecessor string
	// CRDVersion is the version of the CRD that the leader last found in the member, or empty.
	CRDVersion string
}

// changedTo reports whether the groups of the member must be reconciled again. An API server drops fields that are not
// in its CRD: with another version of the CRD, status can have more fields.
func (s Settings) changedTo(next Settings) bool {
	if s.CRDVersion == "" {
		s.CRDVersion = next.CRDVersion // it was not known before
	}
	return s != next
}

// SetMember records the data of a member. If settings of an engaged member changed, it delivers the member's groups.
// It does not deliver members: the caller can hold a lock for which these sinks wait.
func (f *Fleet) SetMember(m Member) {
	f.mu.Lock()
	is := f.members[m.Name]
	if is == nil && m.State == Away {
		f.mu.Unlock()
		return
	}
	is = f.member(m.Name)
	was := is.Member
	is.Member = m
	if f.serving[was.UID] == m.Name {
		delete(f.serving, was.UID)
	}
	if m.State == Engaged && !m.Silent {
		f.serving[m.UID] = m.Name
	}
	f.mu.Unlock()
	if was.State != Away && m.State != Away && was.changedTo(m.Settings) {
		f.deliverIn(Scope{Member: m.Name}, Changed)
	}
}

// Member returns a member whose caches exist. False means that its groups are unknown, and never that it has none.
func (f *Fleet) Member(name string) (Member, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	is := f.members[name]
	if is == nil || is.State == Away {
		return Member{}, false
	}
	m := is.Member
	m.Restores = f.restores[m.UID]
	return m, true
}

// Serves reports whether a member with this cluster UID is engaged and responds, so that all of its groups are known.
func (f *Fleet) Serves(uid string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, serves := f.serving[uid]
	return serves
}

// Restored raises Restores of the member with this cluster UID. Call it after the end of its old caches, and before
// new ones exist. The number stays if the MemberCluster is deleted or renamed: the cluster is the same.
func (f *Fleet) Restored(uid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restores[uid]++
}
