package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A small world, in which names, UIDs, members, clusters and vCenters repeat.
var (
	modelMembers    = []string{"m0", "m1", "m2"}
	modelNamespaces = []string{"one", "two"}
	modelVCenters   = []string{"vc-a", "vc-b"}
)

// space is a namespace of a member.
type space struct{ member, namespace string }

func (r Ref) space() space { return space{r.Member, r.Namespace} }

// naive is a fleet that searches all groups on each call.
type naive struct {
	groups    map[vsphere.GroupKey]Group
	names     map[Ref]vsphere.GroupKey
	listed    map[string]bool
	confirmed map[space]bool
	told
}

// told is what subscribers get in one step.
type told struct {
	gone    map[Departed]bool
	counted map[string]bool
	twins   map[Twins]bool
}

func newTold() told { return told{map[Departed]bool{}, map[string]bool{}, map[Twins]bool{}} }

func newNaive() *naive {
	return &naive{groups: map[vsphere.GroupKey]Group{}, names: map[Ref]vsphere.GroupKey{}, listed: map[string]bool{}, confirmed: map[space]bool{}}
}

func (n *naive) set(ref Ref, key vsphere.GroupKey, g Group) {
	if old, had := n.names[ref]; had && old != key {
		n.gone[Departed{ref, old, n.groups[old].VCenter}] = true
		if n.groups[old].Ref == ref {
			delete(n.groups, old)
		}
	}
	was, known := n.groups[key]
	if !known {
		for other, twin := range n.groups {
			if other.Group() == key.Group() {
				n.twins[Twins{key.Group(), ref, twin.Ref}] = true
			}
		}
	}
	if !known || was.VMs != g.VMs || massdeletion.HeldOf(was.Removes) != massdeletion.HeldOf(g.Removes) {
		n.counted[ref.Member] = true
	}
	n.names[ref], n.groups[key] = key, g
}

func (n *naive) delete(ref Ref) {
	key, known := n.names[ref]
	if !known {
		return
	}
	n.counted[ref.Member] = true
	delete(n.names, ref)
	if n.groups[key].Ref == ref {
		delete(n.groups, key)
	}
}

func (n *naive) keepOnly(member string, these map[Ref]vsphere.GroupKey) {
	for ref, key := range maps.Clone(n.names) {
		if ref.Member == member && these[ref] != key {
			n.gone[Departed{ref, key, n.groups[key].VCenter}], n.counted[member] = true, true
			delete(n.names, ref)
		}
	}
	for key, g := range maps.Clone(n.groups) {
		if g.Ref.Member == member && n.names[g.Ref] != key {
			n.gone[Departed{g.Ref, key, g.VCenter}], n.counted[member] = true, true
			delete(n.groups, key)
		}
	}
}

func (n *naive) in(s Scope) (found []vsphere.GroupKey) {
	for key, g := range n.groups {
		bucket := len(g.Ref.Namespace + g.Ref.Name)
		if s.selects(&g) && (s.Buckets == nil || slices.Contains(s.Buckets, bucket)) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// modelRun is one history.
type modelRun struct {
	*rapid.T
	f *Fleet
	n *naive
	told
	now time.Time
}

func (r *modelRun) Now() time.Time { return r.now }

func (r *modelRun) ref() Ref {
	return Ref{
		rapid.SampledFrom(modelMembers).Draw(r.T, "member"), rapid.SampledFrom(modelNamespaces).Draw(r.T, "namespace"),
		rapid.SampledFrom([]string{"g", "gg", "ggg"}).Draw(r.T, "name"),
	}
}

// key of a group: m0 and m2 are one cluster under two names.
func (r *modelRun) key(ref Ref) vsphere.GroupKey {
	cluster := map[string]string{"m0": "c0", "m1": "c1", "m2": "c0"}[ref.Member]
	return vsphere.KeyOf(cluster, rapid.SampledFrom([]string{"00000000-a", "00000000-b", "11111111-a", "2"}).Draw(r.T, "uid"))
}

func (r *modelRun) group(key vsphere.GroupKey) *v1alpha1.VmGroup {
	g := groupFor(key.Group(), int32(rapid.IntRange(0, 3).Draw(r.T, "vms")))
	g.CreationTimestamp = metav1.NewTime(r.now.Add(-2 * time.Hour))
	for i := range g.Status.Replicas {
		g.Status.VMs = append(g.Status.VMs, v1alpha1.VMStatus{Name: fmt.Sprint(i), MoRef: fmt.Sprint("vm-", i)})
	}
	if rapid.Bool().Draw(r.T, "held") {
		g.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRemoving, Reason: v1alpha1.ReasonMassDeletion}}
	}
	r.counts(g)
	if rapid.Bool().Draw(r.T, "deleted") {
		g.DeletionTimestamp = &metav1.Time{Time: r.now}
	}
	return g
}

func (r *modelRun) step() {
	ref := r.ref()
	switch rapid.IntRange(0, 8).Draw(r.T, "step") {
	case 0, 1, 2:
		key := r.key(ref)
		g, vcenter := r.group(key), rapid.SampledFrom(modelVCenters).Draw(r.T, "vcenter")
		r.n.set(ref, key, groupOf(ref, g, vcenter))
		r.f.SetGroup(ref, key, g, vcenter)
	case 3:
		r.n.delete(ref)
		r.f.DeleteGroup(ref)
	case 4:
		key := r.key(ref)
		g := r.group(key)
		is := groupOf(ref, g, "vc-a")
		is.Acted, is.Expects, is.Recorded, is.Unrecorded, is.Removes.Wanted, is.Removes.Deleted, is.shape = true, 0, nil, false, 0, r.now, nil
		r.n.groups[key] = is
		r.f.KeepVanished(ref, key, g, "vc-a")
	case 5:
		key := r.key(ref)
		r.n.counted[ref.Member] = true
		if delete(r.n.groups, key); r.n.names[ref] == key {
			delete(r.n.names, ref)
		}
		r.f.DropVanished(ref, key)
	case 6:
		these := map[Ref]vsphere.GroupKey{}
		for known, key := range r.n.names {
			if known.Member == ref.Member && known.Name != ref.Name {
				these[known] = key
			}
		}
		r.n.keepOnly(ref.Member, these)
		r.f.KeepOnly(ref.Member, these)
		r.n.listed[ref.Member] = true
		r.f.List(ref.Member)
	case 7:
		r.n.keepOnly(ref.Member, nil)
		delete(r.n.listed, ref.Member)
		for of := range r.n.confirmed {
			if of.member == ref.Member {
				delete(r.n.confirmed, of)
			}
		}
		r.f.DeleteMember(ref.Member)
	case 8:
		confirmed := rapid.Bool().Draw(r.T, "confirmed")
		r.n.confirmed[ref.space()] = confirmed
		r.f.SetNamespace(ref.Member, ref.Namespace, confirmed)
	}
}

// same compares all results of queries.
func (r *modelRun) same() {
	r.sameScopes()
	for _, member := range modelMembers {
		r.sameNames(member)
		r.sameMember(member)
	}
	r.sameParts()
	r.sameExpected()
	r.sameTallies()
	if got, want := fmt.Sprintf("%+v", r.told), fmt.Sprintf("%+v", r.n.told); got != want {
		r.Fatalf("subscribers get %s, want %s", got, want)
	}
	if kept := len(r.f.byVCenter) + len(r.f.byBucket) + len(r.f.byUIDPart); len(r.n.groups) == 0 && kept > 0 {
		r.Fatalf("no group is known, and groups are found by %+v", r.f.indexes)
	}
}

func (r *modelRun) sameScopes() {
	keys := func(s Scope) (found []vsphere.GroupKey) {
		for key, g := range r.f.In(s) {
			if want := r.n.groups[key]; !equalGroups(g, want) {
				r.Fatalf("%s is %+v, want %+v", key, g, want)
			}
			found = append(found, key)
		}
		slices.Sort(found)
		return found
	}
	scopes := make([]Scope, 0, 50)
	scopes = append(scopes, Scope{}, Scope{Buckets: []int{4}}, Scope{Buckets: []int{5}}, Scope{Buckets: []int{4, 6}}, Scope{Buckets: []int{}})
	for _, vcenter := range append([]string{""}, modelVCenters...) {
		for _, member := range append([]string{""}, modelMembers...) {
			for _, namespace := range append([]string{""}, modelNamespaces...) {
				scopes = append(scopes, Scope{Member: member, Namespace: namespace, VCenter: vcenter})
			}
		}
	}
	for _, s := range scopes {
		if got, want := keys(s), r.n.in(s); !slices.Equal(got, want) {
			r.Fatalf("in %+v are %v, want %v", s, got, want)
		}
	}
}

func (r *modelRun) sameNames(member string) {
	for _, namespace := range modelNamespaces {
		for _, name := range []string{"g", "gg", "ggg"} {
			ref := Ref{member, namespace, name}
			want, is := r.n.names[ref]
			if key, g, known := r.f.GroupAt(ref); known != is || key != want || !equalGroups(g, r.n.groups[want]) {
				r.Fatalf("%s is %s %+v, known %v; want %s, %v", ref, key, g, known, want, is)
			}
		}
	}
}

func (r *modelRun) sameParts() {
	for _, part := range []string{"00000000", "11111111", "33333333", "0000", "2", ""} {
		want := slices.ContainsFunc(slices.Collect(maps.Keys(r.n.groups)), func(key vsphere.GroupKey) bool { return strings.HasPrefix(key.Group(), part) })
		if got := r.f.HasUIDPart(part); got != want {
			r.Fatalf("some UID begins with %q: %v, want %v", part, got, want)
		}
	}
}

func (r *modelRun) sameExpected() {
	for _, vcenter := range modelVCenters {
		e, known := r.f.Expected(vcenter, modelMembers[:2])
		want := vsphere.Expectation{}
		for _, g := range r.n.groups {
			if g.VCenter == vcenter {
				want.VMs, want.Unrecorded = want.VMs+g.Expects, want.Unrecorded || g.Unrecorded
				want.Recorded = append(want.Recorded, make([]vsphere.Ref, len(g.Recorded))...)
			}
		}
		if all := r.n.listed["m0"] && r.n.listed["m1"]; known != all || all && (e.VMs != want.VMs || e.Unrecorded != want.Unrecorded || len(e.Recorded) != len(want.Recorded)) {
			r.Fatalf("%s expects %+v, known %v; want %+v, %v", vcenter, e, known, want, all)
		}
	}
}

func (r *modelRun) sameMember(member string) {
	groups, vms, held := 0, 0, massdeletion.New(massdeletion.DefaultRules())
	for key, g := range r.n.groups {
		if g.Ref.Member == member {
			groups, vms = groups+1, vms+g.VMs
			removes := g.Removes
			removes.Spared = removes.Spared || r.n.confirmed[g.Ref.space()]
			held.Set(key, removes, r.now)
		}
	}
	if got, want := r.f.Tally(member), (Tally{groups, vms, held.Held()}); got != want {
		r.Fatalf("%s has %+v, want %+v", member, got, want)
	}
	if got := r.f.Listed(member); got != r.n.listed[member] {
		r.Fatalf("%s is listed: %v", member, got)
	}
	for of, confirmed := range r.n.confirmed {
		is := false
		if m := r.f.members[of.member]; m != nil {
			_, is = m.confirmed[of.namespace]
		}
		if is != confirmed {
			r.Fatalf("%+v is confirmed: %v", of, is)
		}
	}
}

func equalGroups(a, b Group) bool {
	same := slices.Equal(a.Recorded, b.Recorded) && reflect.DeepEqual(a.shape, b.shape)
	a.Recorded, b.Recorded, a.shape, b.shape = nil, nil, nil, nil
	return same && fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b)
}

// Each query has the answer of a search through all groups, whatever happened before.
func TestTheFleetKnowsWhatASearchThroughEverythingWouldFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &modelRun{T: t, n: newNaive(), now: noon{}.Now()}
		r.f = New(r, massdeletion.DefaultRules(), byName{})
		r.f.SubscribeDeparted(sinkFunc[Departed](func(d Departed, _ Reason) { r.gone[d] = true }))
		r.f.SubscribeMembers(sinkFunc[string](func(member string, _ Reason) { r.counted[member] = true }))
		r.f.SubscribeTwins(sinkFunc[Twins](func(of Twins, _ Reason) { r.twins[of] = true }))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			r.told, r.n.told = newTold(), newTold()
			r.step()
			r.same()
		}
	})
}

// Members write at the same time, while others read. In the end each member's groups are known. The race detector
// runs.
func TestMembersWriteAndReadersReadAtTheSameTime(t *testing.T) {
	f := newFleet()
	const groups = 50
	var writers, readers sync.WaitGroup
	done := make(chan struct{})
	for _, member := range modelMembers {
		writers.Go(func() {
			for i := range 4 * groups {
				ref := Ref{member, modelNamespaces[i%2], fmt.Sprint(i % groups)}
				f.see(ref, fmt.Sprint(i%groups, "-", i/groups), modelVCenters[i%2], int32(i%3))
				if i%7 == 0 {
					f.DeleteGroup(ref)
				}
				f.SetNamespace(member, ref.Namespace, i%2 == 0)
			}
			for i := range groups {
				ref := Ref{member, modelNamespaces[i%2], fmt.Sprint(i)}
				f.see(ref, fmt.Sprint(i, "-last"), modelVCenters[i%2], 1)
			}
			f.List(member)
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				for key, g := range f.In(Scope{VCenter: modelVCenters[0]}) {
					f.Group(key)
					f.GroupAt(g.Ref)
				}
				f.Tally(modelMembers[0])
				f.Expected(modelVCenters[1], modelMembers)
				f.Gained([]int{4, 5})
				f.HasUIDPart("7-las")
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	for _, member := range modelMembers {
		if n := f.Tally(member); n.Groups != groups || n.VMs != groups {
			t.Errorf("%s has %+v, want %d groups and VMs", member, n, groups)
		}
	}
	all := slices.SortedFunc(maps.Values(maps.Collect(f.In(Scope{}))), func(a, b Group) int { return cmp.Compare(a.Ref.String(), b.Ref.String()) })
	if len(all) != len(modelMembers)*groups {
		t.Errorf("%d groups are known", len(all))
	}
}
