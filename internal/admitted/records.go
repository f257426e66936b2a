package admitted

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/configmaps"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

var (
	// ErrUnread means that the records have not been read yet. It passes.
	ErrUnread = errors.New("the hub's records of what was admitted have not been read yet")
	// ErrFull means that there is no room for a record: the member has more groups than any, or the group's spec is longer than any.
	ErrFull = errors.New("the hub's records of what was admitted to the groups of this member are full")
)

// Options of Records. All are required.
type Options struct {
	// Client of the release namespace.
	Client corev1client.ConfigMapInterface
	// Groups are those that have records.
	Groups Groups
	// Leader says whether this replica removes the records of groups that are gone.
	Leader sharding.Leader
	// Now is the clock.
	Now func() time.Time
}

// Groups are the groups of all members. *observe.Sources implements it.
type Groups interface {
	// RecordChanged takes the news that another replica, or a person, changed the record of a group. It does not block.
	RecordChanged(Key)
	// Exists reports whether a group exists. It reads memory.
	Exists(context.Context, Key) Existence
}

// Existence is what is known of whether a group exists.
type Existence int

// What is known.
const (
	// Unknown: the member is not served now.
	Unknown Existence = iota
	// Exists: the group is there.
	Exists
	// Absent: a member that is served does not have it.
	Absent
	// Departed: no MemberCluster is the cluster that had it.
	Departed
)

// Records are what the hub has on record. It is safe for concurrent use, and a Runnable of the manager. It keeps in memory what a watch tells,
// and what it wrote itself.
type Records struct {
	opts Options

	mu     sync.Mutex
	synced bool
	pages  map[string]*page
	// members are the pages of each member.
	members map[string]*shelf
	// pending are the writes that wait, by member. A member whose writes are under way has an entry, maybe an empty one.
	pending map[string][]*write
	// missing is since when groups with a record have been absent.
	missing map[Key]time.Time
}

// New returns records that have not been read yet.
func New(opts Options) *Records {
	return &Records{
		opts: opts, pages: map[string]*page{}, members: map[string]*shelf{}, pending: map[string][]*write{}, missing: map[Key]time.Time{},
	}
}

// Of returns what was granted to a group last, or false if the hub has no record of it. It reads memory. The error is one for a person to
// read; while there is one nothing is known.
func (r *Records) Of(key Key) (Entry, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.synced {
		return Entry{}, false, ErrUnread
	}
	s := r.members[key.Member]
	if s == nil {
		return Entry{}, false, nil
	}
	if newest, _ := s.newest(entryName(key.Group)); newest.valid {
		return newest.Entry, true, nil
	}
	return Entry{}, false, s.unreadable()
}

// OfMember returns what was granted last to each group of a member, as far as that can be read. It reads memory. The error is ErrUnread.
func (r *Records) OfMember(member string) (map[types.UID]Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.synced {
		return nil, ErrUnread
	}
	all := map[types.UID]Entry{}
	s := r.members[member]
	if s == nil {
		return all, nil
	}
	for name := range s.homes {
		if newest, _ := s.newest(name); newest.valid && plain.MatchString(name) { // the UID of an odd name is not known
			all[types.UID(name)] = newest.Entry
		}
	}
	return all, nil
}

// take makes a page known that was read or written, unless a later version of it is, and returns the groups whose entries are others now.
func (r *Records) take(p *page) (changed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.pages[p.name]
	if old != nil && later(old.version, p.version) {
		return nil
	}
	r.pages[p.name] = p
	r.replace(p.member, old, p)
	return differ(old, p)
}

// remove forgets a page that was deleted at a version.
func (r *Records) remove(name, version string) (member string, changed []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.pages[name]
	if old == nil || later(old.version, version) {
		return "", nil
	}
	delete(r.pages, name)
	r.replace(old.member, old, nil)
	return old.member, differ(old, nil)
}

// replace changes a member's pages. Callers hold the lock.
func (r *Records) replace(member string, old, next *page) {
	s := r.members[member]
	if s == nil {
		s = &shelf{homes: map[string][]*page{}}
		r.members[member] = s
	}
	if s.replace(old, next); len(s.pages) == 0 {
		delete(r.members, member)
	}
}

// differ are the names of entries that are in one of two versions of a page only, or not as they were.
func differ(old, next *page) (names []string) {
	var was, is map[string]record
	if old != nil {
		was = old.records
	}
	if next != nil {
		is = next.records
	}
	for name, r := range was {
		if now, ok := is[name]; !ok || !equality.Semantic.DeepEqual(now.Entry, r.Entry) {
			names = append(names, name)
		}
	}
	for name := range is {
		if _, ok := was[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// later reports whether one version is certainly later than another.
func later(version, than string) bool {
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order > 0
}

// NeedLeaderElection makes a manager run it on every replica.
func (r *Records) NeedLeaderElection() bool { return false }

// Start watches the records, and removes those of groups that are gone, until ctx ends.
func (r *Records) Start(ctx context.Context) error {
	configmaps.Keep(ctx, r.watch, r.Collect, collectInterval)
	return nil
}
