//go:build unix

package tenancy

import (
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

// forgerySeed selects the forged groups of the sample, and of the slow story.
const forgerySeed = 15

func TestASampleOfForgedGroupsHarmsNobody(t *testing.T) {
	forge(t, forgery{rounds: 2, groups: 40, broken: []string{"a word for a number"}})
}

// forgery is the amount of forged objects.
type forgery struct {
	rounds, groups int
	// broken are the names of the objects that the operator cannot decode.
	broken []string
}

// forge lists forged groups, many at a time. After each round it checks that the victims are served, and that none of
// their objects was changed or disclosed.
func forge(t *testing.T, of forgery) {
	w := shared.enter(t)
	first := newGuarded(t, w, "forged")
	second := newGuarded(t, w, "forged")
	a := newAttacker(t, w, "forger", first.namespace).joined()
	f := newForger(forgerySeed, a, first, second)
	looked := 0
	for round := range of.rounds {
		t.Logf("round %d with seed %d begins", round, forgerySeed)
		listed := make([]hostileapi.Object, 0, of.groups)
		for range of.groups {
			listed = append(listed, f.group())
			a.Invent(groups, listed[len(listed)-1])
		}
		a.heard()
		f.harmNobody(round)
		for _, r := range a.proxy.Records() {
			if r.Resource == groups {
				looked++
			}
		}
		a.proxy.Reset()
		if t.Failed() {
			return
		}
		for i, o := range listed {
			if i%4 > 0 { // the others stay for a while
				a.Forget(groups, hostileapi.Text(o, "metadata", "namespace"), hostileapi.Text(o, "metadata", "name"))
			}
		}
	}
	a.untilTold("SharedGroupUID", `of member "`+victim+`"`)
	a.untilTold("ForeignRecord", "does not count")
	for i, name := range of.broken {
		o := a.invention(fresh("broken"), uuid.NewUUID(), 0)
		broken[name](o)
		a.Invent(groups, o)
		f.harmNobody(of.rounds + i)
		a.Forget(groups, hostileapi.Text(o, "metadata", "namespace"), hostileapi.Text(o, "metadata", "name"))
	}
	a.heard()
	t.Logf("of %d forged groups, the operator wrote %d times", f.count, looked)
	if looked < f.count/2 {
		t.Errorf("the operator wrote %d times to %d groups, want half of them or more", looked, f.count)
	}
}

// harmNobody checks the victims, one in each round.
func (f *forger) harmNobody(round int) {
	f.a.t.Helper()
	for _, g := range f.victims {
		defer f.a.toldNothingOf(g)
		defer g.untouched("while forged groups are listed")
	}
	f.victims[round%len(f.victims)].served("while forged groups are listed")
}

// everyBreak are all ways to break an object.
func everyBreak() []string { return slices.Sorted(maps.Keys(broken)) }
