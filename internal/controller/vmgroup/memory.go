package vmgroup

import (
	"cmp"
	"hash/maphash"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// memory is what this process remembers of acting on groups. Nothing in it outlives the process, and nothing has to. The zero value
// is ready to use.
type memory struct {
	mu     sync.Mutex
	groups map[vsphere.GroupKey]remembered
	// raises of the ring's generation, by the UID of the member whose groups showed a higher one.
	raises map[string]group.Raise
	// sweeps of groups by the deletion of their CRD, by the UID of the member.
	sweeps map[string]sweep
}

// remembered is what is remembered of one group.
type remembered struct {
	// resourceVersion that the operator's own last write gave the group. The informer's cache may still hold an older object
	// right after a write; deciding on that would forget an intent that was just stored. After a restart the first list is
	// newer than any write before. It is forgotten when the member's storage comes back from a backup, whose versions are lower.
	resourceVersion string
	// behind is since when the cache is behind that write, or since the API server was last asked whether it is; zero when it is not.
	behind time.Time
	// reported is when status was written last.
	reported time.Time
	// outOfSight is since when nobody knows which VMs the group has; zero while it is known.
	outOfSight time.Time
	// definitionStays: the group is deleted, and its CRD was not when that was known.
	definitionStays bool
	// adoption is what was claimed for it of another group's VMs, or nil.
	adoption *claimedAdoption
	// userData is what was seen of the user data Secret of its spec.
	userData seenUserData
	// records is how often what was admitted to it is recorded.
	records recordPace
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

func (m *memory) of(key vsphere.GroupKey) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.groups[key]
}

func (m *memory) change(key vsphere.GroupKey, change func(*remembered)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups == nil {
		m.groups = map[vsphere.GroupKey]remembered{}
	}
	r := m.groups[key]
	change(&r)
	m.groups[key] = r
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

func (m *memory) swept(member string) (sweep, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.sweeps[member]
	return s, ok
}

func (m *memory) sweep(member string, s sweep) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sweeps == nil {
		m.sweeps = map[string]sweep{}
	}
	m.sweeps[member] = s
}

func (m *memory) forget(key vsphere.GroupKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.groups, key)
}

// forgetVersion forgets which version of a group was written last, if anything is remembered of the group.
func (m *memory) forgetVersion(key vsphere.GroupKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, remembers := m.groups[key]; remembers {
		r.resourceVersion, r.behind = "", time.Time{}
		m.groups[key] = r
	}
}

// stale reports since when an object with this resourceVersion is known to be older than the last write, or zero if it is not. Versions
// that cannot be compared do not come from an API server that Kubernetes' conformance knows; they are taken as new,
// and a write based on them fails with a conflict if they were not.
func (m *memory) stale(key vsphere.GroupKey, resourceVersion string, now time.Time) time.Time {
	r := m.of(key)
	if r.resourceVersion == "" {
		return time.Time{}
	}
	since := time.Time{}
	if order, err := resourceversion.CompareResourceVersion(resourceVersion, r.resourceVersion); err == nil && order < 0 {
		since = cmp.Or(r.behind, now)
	}
	if !since.Equal(r.behind) {
		m.change(key, func(r *remembered) { r.behind = since })
	}
	return since
}

// sight remembers since when a group is out of sight, or that it is in sight.
func (m *memory) sight(key vsphere.GroupKey, since time.Time) {
	if !m.of(key).outOfSight.Equal(since) {
		m.change(key, func(r *remembered) { r.outOfSight = since })
	}
}

// evaluate is set.Evaluate, remembered by group, so that a pass over one that did not change evaluates nothing.
func (m *memory) evaluate(set *policy.Set, key vsphere.GroupKey, r policy.Requester, spec *v1alpha1.VmGroupSpec, path string) []policy.Violation {
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
	last, labels := m.of(key).evaluated, sumOf(r.NamespaceLabels)
	if last.set == set && last.asked == asked && last.labels == labels {
		return last.violations
	}
	last = evaluation{set: set, asked: asked, labels: labels, violations: set.Evaluate(r, *spec, path)}
	m.change(key, func(r *remembered) { r.evaluated = last })
	return last.violations
}
