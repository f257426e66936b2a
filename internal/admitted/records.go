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
	// ErrUnread means that the records have not been read yet. It is temporary.
	ErrUnread = errors.New("the hub's records of what was admitted have not been read yet")
	// ErrFull means that there is no room for a record: the member has too many groups, or the group's spec is too long.
	ErrFull = errors.New("the hub's records of what was admitted to the groups of this member are full")
)

// Options of Records. All are required.
type Options struct {
	// Client of the release namespace.
	Client corev1client.ConfigMapInterface
	// Groups are the groups with records.
	Groups Groups
	// Leader reports whether this replica removes the records of deleted groups.
	Leader sharding.Leader
	// Now is the clock.
	Now func() time.Time
}

// Groups are the groups of all members. *observe.Sources implements it.
type Groups interface {
	// RecordChanged reports that another replica, or a person, changed the record of a group. It does not block.
	RecordChanged(Key)
	// Exists reports whether a group exists. It reads memory.
	Exists(context.Context, Key) Existence
}

// Existence is the knowledge about the existence of a group.
type Existence int

// Values of Existence.
const (
	// Unknown: the member is not served now.
	Unknown Existence = iota
	// Exists: the group exists.
	Exists
	// Absent: a served member does not have the group.
	Absent
	// Departed: no MemberCluster is the cluster that had the group.
	Departed
)

// Records are the records of the hub. It is safe for concurrent use, and a Runnable of the manager. It keeps in memory the events of a watch, and its
// own writes.
type Records struct {
	opts Options

	mu     sync.Mutex
	synced bool
	pages  map[string]*page
	// members are the pages of each member.
	members map[string]*shelf
	// pending are the waiting writes, by member. A member whose writes are in progress has an entry, possibly an empty one.
	pending map[string][]*write
	// missing is the time since when groups with a record have been absent.
	missing map[Key]time.Time
}

// New returns Records that have not been read yet.
func New(opts Options) *Records {
	return &Records{
		opts: opts, pages: map[string]*page{}, members: map[string]*shelf{}, pending: map[string][]*write{}, missing: map[Key]time.Time{},
	}
}

// Of returns the admitted spec of a group, or false if the hub has no record of it. It reads memory. The error is a message for users. After an
// error, the record is unknown.
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

// OfMember returns the readable records of the groups of a member. It reads memory. The error is ErrUnread.
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
		if newest, _ := s.newest(name); newest.valid && plain.MatchString(name) { // the UID of a hashed name is unknown
			all[types.UID(name)] = newest.Entry
		}
	}
	return all, nil
}

// take stores a page that was read or written, unless a later version is known, and returns the groups whose entries changed.
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

// remove removes a page that was deleted at a version.
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

// differ returns the names of entries that differ between two versions of a page, or are in only one of them.
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

// NeedLeaderElection makes a manager run Records on every replica.
func (r *Records) NeedLeaderElection() bool { return false }

// Start watches the records, and removes those of deleted groups, until ctx ends.
func (r *Records) Start(ctx context.Context) error {
	configmaps.Keep(ctx, r.watch, r.Collect, collectInterval)
	return nil
}
