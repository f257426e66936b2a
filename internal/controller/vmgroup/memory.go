package vmgroup

import (
	"cmp"
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// memory is what this process remembers of acting on groups. Nothing in it outlives the process, and nothing has to. The zero value
// is ready to use.
type memory struct {
	mu     sync.Mutex
	groups map[object]remembered
	// raises of the ring's generation, by the UID of the member whose groups showed a higher one.
	raises map[string]group.Raise
	// definitions are the last answers about the CRDs of members, by the UID of the member.
	definitions map[string]effect.DefinitionSeen
}

// object is one object of a member's API server. Its key alone is not: an API server that lies can show two objects with one UID, and what is
// known of one is not true of the other.
type object struct {
	key  vsphere.GroupKey
	name types.NamespacedName
}

// objectOf is a group of the member with this UID.
func objectOf(member string, of client.Object) object {
	return object{keyOf(member, of), client.ObjectKeyFromObject(of)}
}

// objectAt is the object of a group that has this name.
func objectAt(key vsphere.GroupKey, ref fleet.Ref) object {
	return object{key, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}
}

// remembered is what is remembered of one object.
type remembered struct {
	// tenure of the object's bucket under which all this was remembered; see fleet.Fleet.Tenure.
	tenure uint64
	// resourceVersion that the operator's own last write gave the group. The informer's cache may still hold an older object
	// right after a write; deciding on that would forget an intent that was just stored. After a restart the first list is
	// newer than any write before.
	resourceVersion string
	// restores is the number of restores of the member's storage at that write. Under another number the version says
	// nothing: those of a backup are lower.
	restores uint64
	// behind is since when the cache is behind that write, or since the API server was last asked whether it is; zero when it is not.
	behind time.Time
	// written: this process has written to the object, and the API server accepted it.
	written bool
	// reported is when status was written last.
	reported time.Time
	// counted is the status whose changes of VMs were counted and that is not written yet, or nil.
	counted *v1alpha1.VmGroupStatus
	// outOfSight is since when nobody knows which VMs the group has; zero while it is known.
	outOfSight time.Time
	// deletionSeen is when this process first saw that the group is being deleted, or zero.
	deletionSeen time.Time
	// adoption is the last claim of the VMs of another group, or nil.
	adoption *effect.Claim
	// records is how often what was admitted to it is recorded.
	records effect.RecordPace
	// evaluated is what policies said of its spec.
	evaluated evaluation
}

// evaluation is what policies said, and all that it depends on.
type evaluation struct {
	set        *policy.Set
	asked      question
	labels     labelsSum
	violations []policy.Violation
}

// labelsSum stands for labels of a namespace. The labels themselves would be kept once for each group in it, and may be 1.5 MiB.
type labelsSum struct {
	count int
	sum   uint64
}

// labelsSeed keeps sums secret, so that nobody can find two sets of labels with the same one.
var labelsSeed = maphash.MakeSeed()

// sumOf adds the hashes of all labels, so that their order does not count and they need not be sorted.
func sumOf(labels map[string]string) labelsSum {
	s := labelsSum{count: len(labels)}
	for key, value := range labels {
		s.sum += maphash.Comparable(labelsSeed, [2]string{key, value})
	}
	return s
}

// mostAsked is how many bytes a template and its path may have for what policies say of them to be remembered. A template has at most 255, but for an API
// server that checks nothing.
const mostAsked = 4 << 10

// question is what an evaluation looks at, besides labels.
type question struct {
	member, namespace, template, path string
	cpu, memory, replicas             int32
	counted                           bool
}

func (m *memory) of(o object) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.groups[o]
}

func (m *memory) change(o object, change func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[object]remembered{}
	}
	r := m.groups[o]
	change(&r)
	m.groups[o] = r
}

// begin forgets what was remembered of an object under another tenure.
func (m *memory) begin(o object, tenure uint64) {
	if m.of(o).tenure != tenure {
		m.change(o, func(r *remembered) { *r = remembered{tenure: tenure} })
	}
}

// forgetBefore forgets what was remembered of an object under another tenure than this one. It returns false if a pass
// has begun under this one.
func (m *memory) forgetBefore(o object, tenure uint64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.groups[o]
	if known && r.tenure == tenure {
		return false
	}
	delete(m.groups, o)
	return true
}

func (m *memory) raised(member string) group.Raise {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.raises[member]
}

func (m *memory) raise(member string, r group.Raise) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.raises == nil {
		m.raises = map[string]group.Raise{}
	}
	m.raises[member] = r
}

func (m *memory) definition(member string) (effect.DefinitionSeen, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.definitions[member]
	return d, ok
}

func (m *memory) seeDefinition(member string, d effect.DefinitionSeen) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.definitions == nil {
		m.definitions = map[string]effect.DefinitionSeen{}
	}
	if !d.Asked.Before(m.definitions[member].Asked) {
		m.definitions[member] = d
	}
}

// deletionSeen returns when it was first seen that the group is being deleted, which is now if it was not seen before.
func (m *memory) deletionSeen(o object, now time.Time) time.Time {
	seen := m.of(o).deletionSeen
	if seen.IsZero() {
		seen = now
		m.change(o, func(r *remembered) { r.deletionSeen = seen })
	}
	return seen
}

func (m *memory) forget(o object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.groups, o)
}

// forgetVersion forgets which version of a group was written last, if anything is remembered of the group.
func (m *memory) forgetVersion(o object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, remembers := m.groups[o]; remembers {
		r.resourceVersion, r.behind = "", time.Time{}
		m.groups[o] = r
	}
}

// stale reports since when an object with this resourceVersion is known to be older than the last write, or zero if it is not. Versions
// that cannot be compared do not come from an API server that Kubernetes' conformance knows; they are taken as new,
// and a write based on them fails with a conflict if they were not.
func (m *memory) stale(o object, resourceVersion string, restores uint64, now time.Time) time.Time {
	r := m.of(o)
	since := time.Time{}
	if order, err := resourceversion.CompareResourceVersion(resourceVersion, r.resourceVersion); r.restores == restores && err == nil && order < 0 {
		since = cmp.Or(r.behind, now)
	}
	if !since.Equal(r.behind) {
		m.change(o, func(r *remembered) { r.behind = since })
	}
	return since
}

// sight remembers since when a group is out of sight, or that it is in sight.
func (m *memory) sight(o object, since time.Time) {
	if !m.of(o).outOfSight.Equal(since) {
		m.change(o, func(r *remembered) { r.outOfSight = since })
	}
}

// evaluate is set.Evaluate, remembered by group, so that a pass over one that did not change evaluates nothing.
func (m *memory) evaluate(set *policy.Set, o object, r policy.Requester, spec *v1alpha1.VmGroupSpec, path string) []policy.Violation {
	asked := question{
		member: r.Member, namespace: r.Namespace, template: spec.Template, path: path,
		cpu: spec.CPU, memory: spec.Memory, counted: spec.Replicas != nil,
	}
	if asked.counted {
		asked.replicas = *spec.Replicas
	}
	if len(spec.Template)+len(path) > mostAsked {
		return set.Evaluate(r, *spec, path)
	}
	last, labels := m.of(o).evaluated, sumOf(r.NamespaceLabels)
	if last.set == set && last.asked == asked && last.labels == labels {
		return last.violations
	}
	last = evaluation{set: set, asked: asked, labels: labels, violations: set.Evaluate(r, *spec, path)}
	m.change(o, func(r *remembered) { r.evaluated = last })
	return last.violations
}

// recollection is what the observer asks of the memory.
type recollection struct{ r *Reconciler }

// Evaluate implements observe.Memory.
func (m recollection) Evaluate(set *policy.Set, key vsphere.GroupKey, of *v1alpha1.VmGroup, by policy.Requester, path string) []policy.Violation {
	return m.r.memory.evaluate(set, object{key, client.ObjectKeyFromObject(of)}, by, &of.Spec, path)
}

// Claimed implements observe.Memory.
func (m recollection) Claimed(key vsphere.GroupKey, by *v1alpha1.VmGroup, from string) *group.AdoptionAnswer {
	return m.r.claimed(object{key, client.ObjectKeyFromObject(by)}, from)
}
