package fleet

import (
	"iter"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Clock returns the time.
type Clock interface{ Now() time.Time }

// Ref names a group as the API server of its member does. Another group can get the name; see [vsphere.GroupKey].
type Ref struct{ Member, Namespace, Name string }

func (r Ref) String() string { return r.Member + "/" + r.Namespace + "/" + r.Name }

// space is a namespace of a member.
type space struct{ member, namespace string }

func (r Ref) space() space { return space{r.Member, r.Namespace} }

// Group is what is known of one group.
type Group struct {
	Ref     Ref
	VCenter string
	// VMs is status.replicas.
	VMs int
	// Acted is true if its status shows that VMs of it are, or were, in its vCenter.
	Acted bool
	// Expects is how many VMs the group counts on.
	Expects int
	// Recorded are the references of the VMs that its status shows, and Unrecorded is true where that cannot be all of them.
	Recorded   []string
	Unrecorded bool
	// Shows is what the group has of quotas by its status, which counts where the hub has no record of the group.
	Shows policy.Usage
	// Admits is what its status shows as admitted.
	Admits policy.Usage
	// Removes is what counts of it in a mass deletion, whatever its namespace says.
	Removes massdeletion.Group
}

func groupOf(ref Ref, of *v1alpha1.VmGroup, vcenter string) Group {
	recorded, unrecorded := group.Recorded(of)
	return Group{
		Ref: ref, VCenter: vcenter, VMs: int(of.Status.Replicas), Acted: group.Acted(of), Expects: group.Expects(of), Recorded: recorded, Unrecorded: unrecorded,
		Shows: group.Shows(of), Admits: group.Admits(of), Removes: massdeletion.Of(of),
	}
}

// Fleet knows the groups of all members, whoever acts on them. It is safe for concurrent use.
type Fleet struct {
	clock Clock
	rules massdeletion.Rules
	// On is who is told of changes. It is set before anything is written.
	On Links

	mu     sync.Mutex
	groups map[vsphere.GroupKey]Group
	keys   map[Ref]vsphere.GroupKey
	// within are the keys of groups by namespace.
	within map[space]map[vsphere.GroupKey]struct{}
	// clusters are the cluster UIDs of which groups are, or were, known.
	clusters map[string]struct{}
	// listed are the members whose groups are all known, or were when they were engaged last.
	listed map[string]struct{}
	// guards notice mass deletions, by member.
	guards  map[string]*guard
	enqueue func(of Ref, first bool)
	bucket  func(Ref) (int, bool)
}

// Links are those that the Fleet tells of changes, or asks. None may block.
type Links struct {
	// Gone gets each object that is dropped without news that it was deleted. A group of its key may be known by another name.
	Gone func(vsphere.GroupKey, Group)
	// Counted is told of a member whose groups or VMs are more or fewer than before.
	Counted func(member string)
	// Served reports whether a member with this cluster UID is engaged, so that all of its groups are known.
	Served func(clusterUID string) bool
	// Kept reports whether somebody kept the VMs of a group that is gone.
	Kept func(vsphere.GroupKey) bool
	// Twins is told of groups of two members with one UID, when the second is seen.
	Twins func(uid string, one, other Ref)
}

// New returns a Fleet that knows nothing. rules say what a mass deletion is.
func New(clock Clock, rules massdeletion.Rules) *Fleet {
	return &Fleet{
		clock: clock, rules: rules,
		groups:   map[vsphere.GroupKey]Group{},
		keys:     map[Ref]vsphere.GroupKey{},
		within:   map[space]map[vsphere.GroupKey]struct{}{},
		clusters: map[string]struct{}{},
		listed:   map[string]struct{}{},
		guards:   map[string]*guard{},
		// Until the controller's queue runs nothing is lost: starting it reconciles every group.
		enqueue: func(Ref, bool) {},
		bucket:  func(Ref) (int, bool) { return 0, false },
		On: Links{
			Gone:    func(vsphere.GroupKey, Group) {},
			Counted: func(string) {},
			Served:  func(string) bool { return false },
			Kept:    func(vsphere.GroupKey) bool { return false },
			Twins:   func(string, Ref, Ref) {},
		},
	}
}

// Group returns what is known of a group.
func (f *Fleet) Group(key vsphere.GroupKey) (Group, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, known := f.groups[key]
	return g, known
}

// GroupAt returns the group of this name, and false if none was seen, or news came since that it is gone. The group can be known by another name
// of its member as well, which [Group.Ref] has then.
func (f *Fleet) GroupAt(ref Ref) (vsphere.GroupKey, Group, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, known := f.keys[ref]
	return key, f.groups[key], known
}

// Scope selects groups. What is empty does not restrict it.
type Scope struct {
	Member, Namespace, VCenter string
	// Buckets are those of the ring; groups of members that are not engaged are in none.
	Buckets []int
}

// In returns the groups of a scope, as they are at this moment.
func (f *Fleet) In(s Scope) iter.Seq2[vsphere.GroupKey, Group] {
	type known struct {
		key vsphere.GroupKey
		Group
	}
	f.mu.Lock()
	var found []known
	for key, g := range f.groups {
		if s.selects(g) {
			found = append(found, known{key, g})
		}
	}
	bucket := f.bucket
	f.mu.Unlock()
	wanted := make(map[int]struct{}, len(s.Buckets))
	for _, b := range s.Buckets {
		wanted[b] = struct{}{}
	}
	return func(yield func(vsphere.GroupKey, Group) bool) {
		for _, k := range found {
			if s.Buckets != nil {
				b, ok := bucket(k.Ref)
				if _, is := wanted[b]; !ok || !is {
					continue
				}
			}
			if !yield(k.key, k.Group) {
				return
			}
		}
	}
}

func (s *Scope) selects(g Group) bool {
	return (s.Member == "" || s.Member == g.Ref.Member) && (s.Namespace == "" || s.Namespace == g.Ref.Namespace) && (s.VCenter == "" || s.VCenter == g.VCenter)
}
