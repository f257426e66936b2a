package webhook

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestNestingIsCountedAsDecodersDo(t *testing.T) {
	for _, c := range []struct {
		text string
		want int // the deepest level
	}{
		{``, 0}, {`1`, 0}, {`{}`, 1}, {`[[]]`, 2}, {`{"a":[{}]}`, 3}, {`[{},{},[]]`, 2}, {`"[[[["`, 0}, {`["\"[[",[]]`, 2},
		{`"\\"[`, 1}, {`"[[`, 0}, {`"\`, 0}, {`]]][[`, 0},
	} {
		for limit := range 6 {
			if got, want := nestedTooDeeply([]byte(c.text), limit), c.want > limit; got != want {
				t.Errorf("%q with limit %d: %v, want %v", c.text, limit, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(0, 100).Draw(t, "depth")
		var value any = rapid.String().Draw(t, "innermost")
		for range depth {
			if rapid.Bool().Draw(t, "list") {
				value = []any{rapid.String().Draw(t, "sibling"), value}
			} else {
				value = map[string]any{rapid.String().Draw(t, "key"): value}
			}
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if nestedTooDeeply(text, depth) || (depth > 0 && !nestedTooDeeply(text, depth-1)) {
			t.Fatalf("%s is not %d deep", text, depth)
		}
	})
}

func TestMemoryIsGivenBackWhateverHappens(t *testing.T) {
	const all = 1 << 20
	rapid.Check(t, func(t *rapid.T) {
		m := newShares(all)
		length := rapid.IntRange(0, 100_000).Draw(t, "length")
		limit := rapid.IntRange(0, 100_000).Draw(t, "limit")
		content := strings.Repeat("x", length)
		var r io.Reader = strings.NewReader(content)
		broken := errors.New("broken")
		breaks := rapid.Bool().Draw(t, "breaks")
		if breaks {
			r = io.MultiReader(r, iotest.ErrReader(broken))
		}
		b, err := readBody(r, limit, m, "a")
		switch {
		case length > limit:
			if !errors.Is(err, errTooLarge) {
				t.Fatalf("%d of %d bytes: %v", length, limit, err)
			}
		case breaks:
			if !errors.Is(err, broken) {
				t.Fatalf("%v", err)
			}
		case err != nil || string(b.bytes) != content:
			t.Fatalf("%d of %d bytes: read %d, %v", length, limit, len(b.bytes), err)
		default:
			held := all - m.free
			if held < int64(cap(b.bytes)) {
				t.Fatalf("%d bytes are counted as %d", cap(b.bytes), held)
			}
			if err := b.weigh(); err != nil {
				t.Fatal(err)
			}
			if got := all - m.free; got != held+int64(length) { // a text weighs its bytes
				t.Fatalf("beside %d bytes of a body, %d are held for what it becomes, want %d", held, got-held, length)
			}
			b.release()
		}
		if m.free != all || len(m.held) != 0 {
			t.Fatalf("%d bytes were not given back: %v", all-m.free, m.held)
		}
	})
	heavy := strings.Repeat("{},", 1000) // its weight is 291,000
	scarce := newShares(512 << 10)
	b, err := readBody(strings.NewReader(heavy), 100_000, scarce, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.weigh(); !errors.Is(err, errNoMemory) {
		t.Errorf("what a body becomes takes more memory than there is: %v", err)
	}
	if b.release(); scarce.free != 512<<10 {
		t.Errorf("%d left", scarce.free)
	}
	small := newShares(1000)
	if _, err := readBody(strings.NewReader("x"), 1000, small, "a"); !errors.Is(err, errNoMemory) || small.free != 1000 {
		t.Errorf("%v, %d left", err, small.free)
	}
}

func TestSharesAreNeverExceededNorLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64Range(1, 20).Draw(t, "total")
		s := newShares(total)
		held := map[string][]int64{}
		sum := func(who string) (n int64) {
			for _, part := range held[who] {
				n += part
			}
			return n
		}
		who := rapid.SampledFrom([]string{"a", "b", "c"})
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				who, n := who.Draw(t, "who"), rapid.Int64Range(1, 5).Draw(t, "n")
				left := total - sum("a") - sum("b") - sum("c") - n
				want := sum(who)+n <= left
				if got := s.take(who, n); got != want {
					t.Fatalf("%s takes %d of %d: %v, while %v are held", who, n, total, got, held)
				}
				if want {
					held[who] = append(held[who], n)
				}
			},
			"give": func(t *rapid.T) {
				who := who.Draw(t, "who")
				if n := len(held[who]); n > 0 {
					s.give(who, held[who][n-1])
					held[who] = held[who][:n-1]
				}
			},
		})
		if s.free != total-sum("a")-sum("b")-sum("c") {
			t.Fatalf("%d of %d are free, %v are held", s.free, total, held)
		}
	})
}

func TestHoweverManyTakeAllTheyCanSomeIsLeft(t *testing.T) {
	const total = 1 << 20
	for callers := range 20 {
		s := newShares(total)
		for took := true; took; { // in turns, like concurrent callers
			took = false
			for i := range callers {
				took = s.take(strconv.Itoa(i), 1) || took
			}
		}
		if fair := int64(total / (callers + 1)); s.free < fair {
			t.Errorf("%d callers leave %d, want %d", callers, s.free, fair)
		}
		if !s.take("another", s.free/2) {
			t.Errorf("beside %d callers another one does not get half of what is left", callers)
		}
	}
}
