package history

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
)

// seen is a shard map at a number of milliseconds, with one letter for the holder of each bucket; "-" means no
// holder, "" no shard map.
func seen(ms int, holders string) RingSeen {
	s := RingSeen{At: at(ms)}
	if holders == "" {
		return s
	}
	s.Ring = &ring.Ring{}
	for _, h := range holders {
		lock := ring.Lock{Holder: string(h)}
		if h == '-' {
			lock.Holder = ""
		}
		s.Ring.Buckets = append(s.Ring.Buckets, lock)
	}
	return s
}

func is(names ...string) func(string) bool {
	return func(session string) bool {
		for _, n := range names {
			if n == session {
				return true
			}
		}
		return false
	}
}

func TestTheTimeWithoutAnOwnerEndsWithTheFirstLiveOne(t *testing.T) {
	line := Timeline{Rings: []RingSeen{
		seen(0, "ddddb"), // before the current shard map
		seen(10, "adadb"), seen(1000, "aeadb"), seen(2000, ""), seen(3000, "b-bdb"), seen(4000, "bbbdb"),
	}}
	gaps := line.Ownerless(at(100), is("a", "d", "e"))
	want := []Gap{
		{0, at(100), at(3000), "b"}, {1, at(100), at(4000), "b"}, // e is dead as well
		{2, at(100), at(3000), "b"}, {3, at(100), time.Time{}, ""},
	}
	if len(gaps) != len(want) {
		t.Fatalf("gaps %v", gaps)
	}
	for i := range want {
		if gaps[i] != want[i] {
			t.Errorf("gap %d is %v, want %v", i, gaps[i], want[i])
		}
	}
	if gaps := line.Ownerless(at(2500), is("e")); len(gaps) != 1 || gaps[0].Bucket != 1 {
		t.Errorf("gaps while there is no shard map: %v, want those by the last one", gaps)
	}
	if p := Percentile(gaps[:3], 0.5); p != 2900*time.Millisecond {
		t.Errorf("median %s", p)
	}
	if p := Percentile(gaps[:3], 0.99); p != 3900*time.Millisecond {
		t.Errorf("p99 %s", p)
	}
	if Percentile(gaps, 1) < time.Hour || Percentile(nil, 0.5) != 0 {
		t.Error("a gap without an end is not the longest")
	}
}

func TestTheTimeOfAHandoverBeginsWithTheRelease(t *testing.T) {
	line := Timeline{Rings: []RingSeen{seen(0, "aaaab"), seen(100, "-aaab"), seen(150, "cca-b"), seen(200, "cca-b")}}
	gaps := line.Released(at(50), is("a"))
	want := []Gap{{0, at(100), at(150), "c"}, {1, at(150), at(150), "c"}, {3, at(150), time.Time{}, ""}}
	if len(gaps) != len(want) {
		t.Fatalf("gaps %v", gaps)
	}
	for i := range want {
		if gaps[i] != want[i] {
			t.Errorf("gap %d is %v, want %v", i, gaps[i], want[i])
		}
	}
}

func TestMovesAreChangesOfHolders(t *testing.T) {
	line := Timeline{Rings: []RingSeen{seen(0, "ab"), seen(10, "ba"), seen(20, "ba"), seen(30, ""), seen(40, "ba"), seen(50, "bc")}}
	moves := line.Moves(at(15))
	if len(moves) != 1 || moves[0] != (Move{at(50), 1, "a", "c"}) {
		t.Errorf("moves %v", moves)
	}
	if n := len(line.Moves(at(0))); n != 3 {
		t.Errorf("%d moves since the beginning, want 3", n)
	}
}

func TestTheNewestSessionOfAHostIsItsProcess(t *testing.T) {
	line := Timeline{Rings: []RingSeen{seen(0, "ab-")}, Sessions: map[string]Session{
		"a": {Name: "a", Boot: "1", Host: "manager-0", State: "fenced", Since: at(1), Changed: at(9)},
		"b": {Name: "b", Boot: "2", Host: "manager-0", State: "ready", Since: at(2), Changed: at(7)},
		"c": {Name: "c", Boot: "3", Host: "manager-0", State: Gone, Since: at(3), Changed: at(8)},
		"d": {Name: "d", Boot: "4", Host: "manager-0", State: "ready", Since: at(4), Changed: at(4)}, // restored from a backup
	}}
	if boot := line.BootOf("manager-0"); boot != "2" {
		t.Errorf("boot %q", boot)
	}
	if shares := line.Shares(); shares["manager-0"] != 2 || shares[""] != 1 {
		t.Errorf("shares %v", shares)
	}
	if of := line.Of("1", "3"); !of("a") || of("b") || !of("c") || of("unknown") {
		t.Error("a session is taken for another process's")
	}
}
