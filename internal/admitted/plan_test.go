package admitted

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// hub keeps ConfigMaps, and applies patches to them as an API server does.
type hub struct {
	objects map[string]*corev1.ConfigMap
	version int
}

func (h *hub) apply(member string, number int, p *patch) {
	name := pageName(member, number)
	object := h.objects[name]
	if object == nil {
		object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{memberAnnotation: member, formatAnnotation: format}}, Data: map[string]string{}}
		h.objects[name] = object
	}
	if p.version != "" && p.version != object.ResourceVersion {
		return // a conflict
	}
	h.version++
	object.ResourceVersion = strconv.Itoa(h.version)
	for key, value := range p.values {
		if delete(object.Data, key); value != nil {
			object.Data[key] = *value
		}
	}
}

// shelf is the knowledge of a replica that has seen all pages.
func (h *hub) shelf() *shelf {
	s := &shelf{homes: map[string][]*page{}}
	for _, object := range h.objects {
		s.replace(nil, pageOf(object))
	}
	return s
}

// TestRecordsStayOnSmallPagesWhateverBecomesOfThem: replicas with outdated knowledge put, move and drop records of any size,
// and end in the middle.
func TestRecordsStayOnSmallPagesWhateverBecomesOfThem(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 0))
		h := &hub{objects: map[string]*corev1.ConfigMap{}}
		want := map[string]int32{}
		for round := range int32(150) {
			changes := make([]*change, 0, 6)
			s := h.shelf()
			for _, n := range random.Perm(40)[:1+random.IntN(6)] {
				c := &change{name: fmt.Sprintf("%08d-aaaa", n)}
				if random.IntN(5) > 0 {
					e := entryOf(round+1, random.IntN(6)*random.IntN(500))
					c.entry = &e
				}
				changes = append(changes, c)
			}
			p := newPlan(s, changes)
			for number, size := range p.sizes {
				if size > pageSize && !alone(p, s, number) {
					t.Fatalf("page %d gets %d bytes", number, size)
				}
			}
			for _, number := range slices.Sorted(maps.Keys(p.pages)) {
				h.apply("member", number, p.pages[number])
			}
			for _, c := range changes {
				if delete(want, c.name); c.entry != nil {
					want[c.name] = c.entry.Admitted.Replicas
				}
			}
			if random.IntN(4) > 0 { // or the replica ends here
				for number, p := range leftBehind(h.shelf(), changes) {
					h.apply("member", number, p)
				}
			}
			s = h.shelf()
			for n := range 40 {
				name := fmt.Sprintf("%08d-aaaa", n)
				got, _ := s.newest(name)
				if replicas, exists := want[name]; exists != got.valid || replicas != got.Admitted.Replicas {
					t.Fatalf("seed %d, round %d: the record of %s is %+v, want %d replicas", seed, round, name, got, replicas)
				}
			}
		}
	}
}

// TestARecordThatMovesBackIsNotRemovedByWhoMovedItAway: a replica moves a record from one page to another. Before it removes
// the old copy, the next owner moves the record back.
func TestARecordThatMovesBackIsNotRemovedByWhoMovedItAway(t *testing.T) {
	for story, seesTheMoveBack := range map[string]bool{"and sees that": true, "and does not see it yet": false} {
		h := &hub{objects: map[string]*corev1.ConfigMap{}}
		const name = "00000001-aaaa"
		write := func(replicas int32, number, from int) *change {
			last, _ := h.shelf().newest(name)
			text, err := encode(entryOf(replicas, 0), last.turn+1)
			if err != nil {
				t.Fatal(err)
			}
			h.apply("member", number, &patch{values: map[string]*string{name: &text}})
			return &change{name: name, from: []int{from}}
		}
		write(1, 3, 3)
		away := write(2, 7, 3)
		seen := h.shelf()
		back := write(3, 3, 7)
		if seesTheMoveBack {
			seen = h.shelf()
		}
		for number, p := range leftBehind(seen, []*change{away}) {
			h.apply("member", number, p)
		}
		for number, p := range leftBehind(h.shelf(), []*change{back}) {
			h.apply("member", number, p)
		}
		if got, _ := h.shelf().newest(name); got.Admitted.Replicas != 3 || len(h.shelf().homes[name]) != 1 {
			t.Errorf("%s: the record is %+v on %d pages, want that of 3 replicas on one", story, got, len(h.shelf().homes[name]))
		}
	}
}

// alone reports whether a page has one record, which is too large to share it.
func alone(p *plan, s *shelf, number int) bool {
	names := map[string]bool{}
	if at, exists := s.at(number); exists {
		for name := range s.pages[at].records {
			names[name] = true
		}
	}
	for name, value := range p.pages[number].values {
		if names[name] = true; value == nil {
			delete(names, name)
		}
	}
	return len(names) == 1
}

func entryOf(replicas int32, long int) Entry {
	return Entry{
		Namespace: "team", Name: "web", Epoch: v1alpha1.Epoch{Generation: 1},
		Admitted: v1alpha1.Admitted{Revision: "1-abc", Replicas: replicas, VMShape: v1alpha1.VMShape{CPU: 2, Memory: 4, Template: strings.Repeat("x", long)}},
	}
}

func TestAMemberHasNoMoreRecordsThanFit(t *testing.T) {
	s := &shelf{homes: map[string][]*page{}}
	const size = 2000
	for number := range memberSize / size {
		s.replace(nil, &page{number: number, size: size, records: map[string]record{strconv.Itoa(number): {size: size, valid: true}}})
	}
	for story, c := range map[string]struct {
		name string
		long int
		fits bool
	}{
		"a new record": {"new", 1000, false}, "a longer one": {"0", entrySize - 512, false}, "a shorter one": {"0", 1000, true},
	} {
		e := entryOf(1, c.long)
		put := &change{name: c.name, entry: &e}
		if newPlan(s, []*change{put}); errors.Is(put.err, ErrFull) == c.fits {
			t.Errorf("%s, where all is full: %v", story, put.err)
		}
	}
}
