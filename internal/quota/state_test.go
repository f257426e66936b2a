package quota

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// many returns a ledger of n groups with names as long as people make them.
func many(n int) State {
	random := rand.New(rand.NewPCG(1, 2))
	s := State{Entries: map[Key]Entry{}, Counted: map[string][]string{"0123456789abcdef": {"team-a", "team-b"}}}
	for i := range n {
		uid := types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", random.Uint32(), random.IntN(1<<16), random.IntN(1<<12), random.IntN(1<<12), random.Int64N(1<<48)))
		s.Entries[Key{fmt.Sprintf("team-%d-production", i%20), uid}] = Entry{
			Namespace: fmt.Sprintf("application-%d", i%700), Name: fmt.Sprintf("frontend-server-%d", i),
			Usage: policy.Usage{Groups: 1, VMs: int64(i % 50), CPU: int64(i % 200), Memory: int64(i % 400)},
			Keys:  []string{short("each", fmt.Sprint(i%700)), short("all")}, Epoch: v1alpha1.Epoch{Generation: 3, Number: int64(i)}, Doubted: i%3 == 0,
		}
	}
	return s
}

func TestALedgerIsReadAsItWasWritten(t *testing.T) {
	for _, n := range []int{0, 1, 100, 20000} {
		s := many(n)
		c, err := encode(s)
		if err != nil {
			t.Fatalf("%d groups: %v", n, err)
		}
		size := 0
		for _, text := range c.data {
			size += len(text)
		}
		for _, packed := range c.binary {
			size += len(packed)
		}
		t.Logf("%d groups are %d bytes", n, size)
		if size > fullSize {
			t.Errorf("%d groups do not fit into a ConfigMap", n)
		}
		if n <= 100 != (len(c.data) == 1) {
			t.Errorf("%d groups: stored as text %v; people read a small ledger, a large one is packed", n, len(c.data) == 1)
		}
		if got, err := decode(c); err != nil || !reflect.DeepEqual(got.Counted, s.Counted) || !maps.EqualFunc(got.Entries, s.Entries, func(a, b Entry) bool { return reflect.DeepEqual(a, b) }) {
			t.Errorf("%d groups are read as something else: %v", n, err)
		}
	}
}

func TestTwoMembersWithOneGroupUIDHaveAnEntryEach(t *testing.T) {
	victim, attacker := Key{"victim", "u"}, Key{"attacker", "u"}
	s := State{Entries: map[Key]Entry{
		victim:                   {Namespace: "n", Name: "g", Usage: policy.Usage{Groups: 1, VMs: 5}},
		attacker:                 {Namespace: "n", Name: "g", Usage: policy.Usage{Groups: 1, VMs: 1}},
		{"attacker", "u@victim"}: {Namespace: "n", Name: "odd", Usage: policy.Usage{Groups: 1, VMs: 2}},
		{"victim", "u@victim"}:   {Namespace: "n", Name: "odd", Usage: policy.Usage{Groups: 1, VMs: 3}},
	}}
	c, err := encode(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(c)
	if err != nil || len(got.Entries) != len(s.Entries) {
		t.Errorf("read as %+v, %v", got.Entries, err)
	}
	for id, e := range s.Entries {
		if got.Entries[id].Usage != e.Usage {
			t.Errorf("%+v is read as %+v", id, got.Entries[id])
		}
	}
}

func TestALedgerThatDoesNotFitIsNotWritten(t *testing.T) {
	if _, err := encode(many(24000)); !errors.Is(err, ErrFull) {
		t.Errorf("the error is %v", err)
	}
}

func TestNonsenseIsNoLedger(t *testing.T) {
	for story, c := range map[string]content{
		"nothing":         {},
		"another format":  {data: map[string]string{plainKey: `{"format":2}`}},
		"no JSON":         {data: map[string]string{plainKey: `{"format":1`}},
		"not packed":      {binary: map[string][]byte{packedKey: []byte("plain")}},
		"a negative debt": {data: map[string]string{plainKey: `{"format":1,"entries":{"u":{"m":"m","n":"n","g":"g","u":[-5,0,0],"e":[1,1]}}}`}},
	} {
		if s, err := decode(c); err == nil {
			t.Errorf("%s is read as %+v", story, s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[{}":\[\],a-z0-9-]{0,60}`).Draw(t, "text")
		_, _ = decode(content{data: map[string]string{plainKey: strings.ReplaceAll(text, "f", "format")}}) // must not panic
	})
}

func TestWhatAGroupGivesBackIsTakenOfEachResource(t *testing.T) {
	mine, other := policy.Usage{Groups: 1, VMs: 2, CPU: 8, Memory: 32}, policy.Usage{Groups: 1, VMs: 3, CPU: 6, Memory: 9}
	id := Key{"m", "mine"}
	state := State{Entries: map[Key]Entry{id: {Keys: []string{"all"}, Usage: mine}, {"m", "other"}: {Keys: []string{"all"}, Usage: other}}}
	if got := usedByOthers(state, totals(state), "all", id); got != other {
		t.Errorf("the others use %+v, want %+v", got, other)
	}
	d := newDraft(state, totals(state), facts{})
	if d.remove(id); d.totals["all"] != other || len(d.state.Entries) != 1 || !d.changed {
		t.Errorf("what is left adds up to %+v, want %+v", d.totals["all"], other)
	}
}
