package quota

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// manyIn returns the ledger of one total with n groups.
func manyIn(key string, n int) State {
	s := StateOf(entriesOf(n, func(int) []string { return []string{key} }))
	s.Set, s.Of, s.Counted = "uid.7", "all", map[string][]string{"0123456789abcdef": {"team-a", "team-b"}}
	return s
}

func entriesOf(n int, keys func(int) []string) map[Key]Entry {
	random := rand.New(rand.NewPCG(1, 2))
	entries := map[Key]Entry{}
	for i := range n {
		uid := types.UID(fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", random.Uint32(), random.IntN(1<<16), random.IntN(1<<12), random.IntN(1<<12), random.Int64N(1<<48)))
		entries[Key{fmt.Sprintf("team-%d-production", i%20), uid}] = Entry{
			Namespace: fmt.Sprintf("application-%d", i%700), Name: fmt.Sprintf("frontend-server-%d", i),
			Usage: policy.Usage{Groups: int64(min(1, i%100)), VMs: int64(i % 50), CPU: int64(i % 200), Memory: int64(i % 400), Storage: int64(i % 900)},
			Keys:  keys(i), Epoch: v1alpha1.Epoch{Generation: 3, Number: int64(i)}, Doubted: i%3 == 0,
		}
	}
	return entries
}

func (c content) size() (size int) {
	for _, text := range c.data {
		size += len(text)
	}
	for _, packed := range c.binary {
		size += len(packed)
	}
	return size
}

func same(a, b State) bool {
	return a.Set == b.Set && a.Of == b.Of && reflect.DeepEqual(a.Counted, b.Counted) && reflect.DeepEqual(a.Entries(), b.Entries())
}

func TestTheLedgerOfATotalIsReadAsItWasWritten(t *testing.T) {
	for _, n := range []int{0, 1, 100, 20000} {
		s := manyIn("key", n)
		c, err := encodeTotal("key", &s)
		if err != nil {
			t.Fatalf("%d groups: %v", n, err)
		}
		t.Logf("%d groups are %d bytes", n, c.size())
		if n <= 100 != (len(c.binary) == 0) {
			t.Errorf("%d groups: %d parts are packed; people read a small ledger, a large one is packed", n, len(c.binary))
		}
		got, err := decodeTotal("key", c, &State{})
		if err != nil || !same(got, s) {
			t.Errorf("%d groups are read as something else: %v", n, err)
		}
		// Unchanged entries are not decoded again, and changed ones are.
		d := newDraft(got, facts{})
		one := Key{"m", "one"}
		d.put(one, Entry{Name: "one", Keys: []string{"key"}, Usage: policy.Usage{Groups: 1, VMs: 3}})
		d.state.freeze()
		if c, err = encodeTotal("key", &d.state); err != nil {
			t.Fatal(err)
		}
		next, err := decodeTotal("key", c, &got)
		if err != nil || !same(next, d.state) {
			t.Errorf("%d groups and one are read as something else: %v", n, err)
		}
		anew := 0
		for i, p := range next.parts {
			if p != got.parts[i] {
				anew++
			}
		}
		if anew != 1 {
			t.Errorf("%d groups: %d parts are decoded for one entry", n, anew)
		}
		if ids := changed(&got, &next); len(ids) != 1 || ids[0] != one {
			t.Errorf("changed is %v", ids)
		}
	}
}

func TestTwoMembersWithOneGroupUIDHaveAnEntryEach(t *testing.T) {
	keys := []string{"key"}
	s := StateOf(map[Key]Entry{
		{"victim", "u"}:          {Namespace: "n", Name: "g", Keys: keys, Usage: policy.Usage{Groups: 1, VMs: 5}},
		{"attacker", "u"}:        {Namespace: "n", Name: "g", Keys: keys, Usage: policy.Usage{Groups: 1, VMs: 1}},
		{"attacker", "victim/u"}: {Namespace: "n", Name: "odd", Keys: keys, Usage: policy.Usage{Groups: 1, VMs: 2}},
		{"victim", "victim/u"}:   {Namespace: "n", Name: "odd", Keys: keys, Usage: policy.Usage{Groups: 1, VMs: 3}},
	})
	c, err := encodeTotal("key", &s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeTotal("key", c, &State{}); err != nil || !same(got, s) {
		t.Errorf("read as %+v, %v", got.Entries(), err)
	}
}

func TestALedgerThatDoesNotFitIsNotWritten(t *testing.T) {
	total := manyIn("key", 34000)
	if _, err := encodeTotal("key", &total); !errors.Is(err, ErrFull) {
		t.Errorf("the error is %v", err)
	}
}

func TestNonsenseIsNoLedger(t *testing.T) {
	text := func(text string) content { return content{data: map[string]string{plainKey: text}} }
	for story, c := range map[string]content{
		"nothing":          {},
		"a later format":   text(`{"format":3}`),
		"no JSON":          text(`{"format":2`),
		"no format at all": text(`{}`),
	} {
		if err := decodeHead(c); err == nil {
			t.Errorf("%s is read as a head", story)
		}
	}
	head := `{"format":2,"key":"key"}`
	for story, data := range map[string]map[string]string{
		"nothing":                {},
		"the head":               {plainKey: `{"format":2}`},
		"another total's":        {plainKey: `{"format":2,"key":"another"}`},
		"a later format":         {plainKey: `{"format":3,"key":"key"}`},
		"no member":              {plainKey: head, fmt.Sprintf(partKey, partOf("u")): `{"u":{"n":"n","g":"g","u":[5,0,0],"e":[1,1]}}`},
		"a part that is no JSON": {plainKey: head, "part-00.json": "{"},
		"a negative debt":        {plainKey: head, fmt.Sprintf(partKey, partOf("u")): `{"m/u":{"n":"n","g":"g","u":[-5,0,0],"e":[1,1]}}`},
		"an entry out of place":  {plainKey: head, fmt.Sprintf(partKey, (partOf("u")+1)%parts): `{"m/u":{"n":"n","g":"g","u":[5,0,0],"e":[1,1]}}`},
	} {
		if s, err := decodeTotal("key", content{data: data}, &State{}); err == nil {
			t.Errorf("%s is read as %+v", story, s)
		}
	}
	unpacked := content{data: map[string]string{plainKey: head}, binary: map[string][]byte{fmt.Sprintf(packedPart, 0): []byte("plain")}}
	if s, err := decodeTotal("key", unpacked, &State{}); err == nil {
		t.Errorf("a part that is not packed is read as %+v", s)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := strings.ReplaceAll(rapid.StringMatching(`[{}":\[\],a-z0-9-]{0,60}`).Draw(t, "text"), "f", "format")
		_ = decodeHead(text(words)) // must not panic
		_, _ = decodeTotal("key", content{data: map[string]string{plainKey: head, "part-00.json": words}}, &State{})
	})
}

func TestWhatAGroupGivesBackIsTakenOfEachResource(t *testing.T) {
	mine, other := policy.Usage{Groups: 1, VMs: 2, CPU: 8, Memory: 32}, policy.Usage{Groups: 1, VMs: 3, CPU: 6, Memory: 9}
	id := Key{"m", "mine"}
	state := StateOf(map[Key]Entry{id: {Keys: []string{"all"}, Usage: mine}, {"m", "other"}: {Keys: []string{"all"}, Usage: other}})
	if got := usedByOthers(&state, totals(&state), "all", id); got != other {
		t.Errorf("the others use %+v, want %+v", got, other)
	}
	d := newDraft(state, facts{})
	if d.remove(id); d.totals["all"] != other || len(d.state.Entries()) != 1 || !d.changed {
		t.Errorf("what is left adds up to %+v, want %+v", d.totals["all"], other)
	}
}
