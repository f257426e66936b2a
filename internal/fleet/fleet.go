package fleet

import (
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Clock returns the time.
type Clock interface{ Now() time.Time }

// Ref names a group as the API server of its member does. Another group can get the name; see [vsphere.GroupKey].
type Ref struct{ Member, Namespace, Name string }

func (r Ref) String() string { return r.Member + "/" + r.Namespace + "/" + r.Name }

// Group is the data of one group.
type Group struct {
	Ref     Ref
	VCenter string
	// VMs is status.replicas.
	VMs int
	// Acted is true if its status shows that VMs of it are, or were, in its vCenter.
	Acted bool
	// Expects is how many VMs the group expects to exist.
	Expects int
	// Recorded are the references of the VMs in its status. Unrecorded is true if these cannot be all of its VMs.
	Recorded   []string
	Unrecorded bool
	// Shows is the group's share of quotas according to its status, which counts if the hub has no record of the group.
	Shows policy.Usage
	// Admits is the admitted usage in its status.
	Admits policy.Usage
	// Removes is its part in a mass deletion, without regard to confirmations of its namespace.
	Removes massdeletion.Group

	// shape has the counts of the group, nil for a deleted one.
	shape *tally.Shape
}

func groupOf(ref Ref, of *v1alpha1.VmGroup, vcenter string) Group {
	recorded, unrecorded := group.Recorded(of)
	shape := tally.Of(of)
	return Group{
		Ref: ref, VCenter: vcenter, VMs: int(of.Status.Replicas), Acted: group.Acted(of), Expects: group.Expects(of), Recorded: recorded, Unrecorded: unrecorded,
		Shows: group.Shows(of), Admits: group.Admits(of), Removes: massdeletion.Of(of),
		shape: &shape,
	}
}

// Buckets maps groups to buckets, and has those that this replica holds. *sharding.Replica implements it.
type Buckets interface {
	// Bucket of a group, which never changes.
	Bucket(sharding.Key) int
	// Holds reports whether this replica can act on a group now.
	Holds(sharding.Key) bool
}

// Fleet has all members and their groups, including those of other replicas. It is safe for concurrent use.
type Fleet struct {
	clock   Clock
	rules   massdeletion.Rules
	buckets Buckets

	mu      sync.Mutex
	groups  map[vsphere.GroupKey]Group
	members map[string]*member
	// serving are the names of members that are engaged and respond, by cluster UID.
	serving map[string]string
	// restores counts restores of storage by cluster UID.
	restores map[string]uint64
	// vcenters are the existing VCenters, by name.
	vcenters map[string]*vcenter
	// losses counts how often buckets were lost.
	losses  map[int]uint64
	tallies *tally.Book
	indexes
	sinks sinks
}

// New returns an empty Fleet. rules define a mass deletion.
func New(clock Clock, rules massdeletion.Rules, buckets Buckets) *Fleet {
	return &Fleet{
		clock: clock, rules: rules, buckets: buckets,
		groups: map[vsphere.GroupKey]Group{}, members: map[string]*member{}, serving: map[string]string{}, restores: map[string]uint64{}, losses: map[int]uint64{}, vcenters: map[string]*vcenter{}, indexes: newIndexes(), tallies: tally.NewBook(),
	}
}

// Group returns the data of a group.
func (f *Fleet) Group(key vsphere.GroupKey) (Group, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, known := f.groups[key]
	return g, known
}

// GroupAt returns the group of this name, and false if none was seen, or its deletion was reported since. The group can
// also be known by another name of its member, which is then in [Group.Ref].
func (f *Fleet) GroupAt(ref Ref) (vsphere.GroupKey, Group, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.members[ref.Member]
	if m == nil {
		return "", Group{}, false
	}
	key, known := m.names[ref]
	return key, f.groups[key], known
}
