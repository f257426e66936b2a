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

// memory is the state that this process keeps about groups. It does not outlive the process. The zero value is ready to use.
type memory struct {
	mu     sync.Mutex
	groups map[object]remembered
	// raises of the shard map's generation, by the UID of the member whose groups showed a higher one.
	raises map[string]group.Raise
	// definitions are the last answers about the CRDs of members, by the UID of the member.
	definitions map[string]effect.DefinitionSeen
}

// object identifies one object of a member's API server. The key is not enough: an API server that lies can show two objects with one UID.
type object struct {
	key  vsphere.GroupKey
	name types.NamespacedName
}

// objectOf is a group of the member with this UID.
func objectOf(member string, of client.Object) object {
	return object{keyOf(member, of), client.ObjectKeyFromObject(of)}
}

// objectAt is the group with this name.
func objectAt(key vsphere.GroupKey, ref fleet.Ref) object {
	return object{key, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}}
}

// remembered is the state of one object.
type remembered struct {
	// tenure of the object's bucket under which this state is valid; see fleet.Fleet.Tenure.
	tenure uint64
	// resourceVersion after the operator's last write. Right after a write the informer's cache can hold an older object, and a decision on
	// that object would lose an intent that was just stored. After a restart the first list is newer than any earlier write.
	resourceVersion string
	// restores is the number of restores of the member's storage at that write. Versions of a backup are lower and cannot be compared.
	restores uint64
	// behind is the time since when the cache is older than that write, or of the last check at the API server, or zero.
	behind time.Time
	// written is true if the API server accepted a write of this process to the object.
	written bool
	// reported is the time of the last write of status.
	reported time.Time
	// counted is the status whose changes of VMs were counted and that is not written yet, or nil.
	counted *v1alpha1.VmGroupStatus
	// outOfSight is the time since when the group's VMs are unknown, or zero.
	outOfSight time.Time
	// deletionSeen is the time at which this process first saw the group's deletion, or zero.
	deletionSeen time.Time
	// adoption is the last claim of the VMs of another group, or nil.
	adoption *effect.Claim
	// records limits how often the admitted shape is recorded.
	records effect.RecordPace
	// evaluated is the last result of policies for its spec.
	evaluated evaluation
}

// evaluation is a result of policies with its inputs.
type evaluation struct {
	set        *policy.Set
	asked      question
	labels     labelsSum
	violations []policy.Violation
}

// labelsSum is a hash of a namespace's labels, which can take 1.5 MiB and would be stored once for each group.
type labelsSum struct {
	count int
	sum   uint64
}

// labelsSeed keeps hashes secret, so that no user can construct two sets of labels with the same hash.
var labelsSeed = maphash.MakeSeed()

// sumOf adds the hashes of all labels, so that the result does not depend on their order.
func sumOf(labels map[string]string) labelsSum {
	s := labelsSum{count: len(labels)}
	for key, value := range labels {
		s.sum += maphash.Comparable(labelsSeed, [2]string{key, value})
	}
	return s
}

// mostAsked is the limit in bytes of a template and its path for a stored evaluation. A template has at most 255 bytes, unless an API server checks nothing.
const mostAsked = 4 << 10

// question has the inputs of an evaluation besides labels.
type question struct {
	member, namespace, template, path string
	cpu, memory, disk, replicas       int32
	dataDisk                          int32
	dataDisks                         int64
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

// begin drops the state of an object under another tenure.
func (m *memory) begin(o object, tenure uint64) {
	if m.of(o).tenure != tenure {
		m.change(o, func(r *remembered) { *r = remembered{tenure: tenure} })
	}
}

// forgetBefore drops the state of an object under another tenure. It returns false if a pass has begun under this tenure.
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

// deletionSeen returns the time at which the group's deletion was first seen, which is now at the first call.
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

// forgetVersion drops the version of a group's last write.
func (m *memory) forgetVersion(o object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, remembers := m.groups[o]; remembers {
		r.resourceVersion, r.behind = "", time.Time{}
		m.groups[o] = r
	}
}

// stale returns the time since when an object with this resourceVersion is known to be older than the last write, or zero. A conformant API server has
// comparable versions. Other versions count as new, and a write based on an old object fails with a conflict.
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

// sight sets the time since when the group's VMs are unknown, or zero.
func (m *memory) sight(o object, since time.Time) {
	if !m.of(o).outOfSight.Equal(since) {
		m.change(o, func(r *remembered) { r.outOfSight = since })
	}
}

// evaluate caches set.Evaluate by group, so that a pass over an unchanged group evaluates nothing.
func (m *memory) evaluate(set *policy.Set, o object, r policy.Requester, spec *v1alpha1.VmGroupSpec, path string) []policy.Violation {
	asked := question{
		member: r.Member, namespace: r.Namespace, template: spec.Template, path: path,
		cpu: spec.CPU, memory: spec.Memory, disk: spec.Shape().RootDiskGiB(), counted: spec.Replicas != nil,
	}
	for _, d := range spec.Shape().DataDisks() {
		asked.dataDisk, asked.dataDisks = max(asked.dataDisk, d.SizeGiB), asked.dataDisks+int64(d.SizeGiB)
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

// recollection implements observe.Memory.
type recollection struct{ r *Reconciler }

// Evaluate implements observe.Memory.
func (m recollection) Evaluate(set *policy.Set, key vsphere.GroupKey, of *v1alpha1.VmGroup, by policy.Requester, path string) []policy.Violation {
	return m.r.memory.evaluate(set, object{key, client.ObjectKeyFromObject(of)}, by, &of.Spec, path)
}

// Claimed implements observe.Memory.
func (m recollection) Claimed(key vsphere.GroupKey, by *v1alpha1.VmGroup, from string) *group.AdoptionAnswer {
	return m.r.claimed(object{key, client.ObjectKeyFromObject(by)}, from)
}
