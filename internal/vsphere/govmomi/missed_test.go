package govmomi

import (
	"fmt"
	"testing"
	"time"
)

func TestANameThatIsMissedIsLookedForLessAndLess(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var m misses
	typo, looks := missing{kindTemplate, "debain"}, 0
	var last time.Time
	for end := now.Add(time.Hour); now.Before(end); now = now.Add(time.Second) { // a waiting group asks each second
		if !m.ask(typo, now) {
			continue
		}
		if due := m.due(now); len(due) != 1 || due[0] != typo {
			t.Fatalf("to be looked for are %v", due)
		}
		if looks > 8 && now.Sub(last) < missLast {
			t.Errorf("look %d comes %s after the last", looks, now.Sub(last))
		}
		last = now
		looks++
	}
	if looks < 12 || looks > 20 {
		t.Errorf("it is looked for %d times in an hour", looks)
	}
	if due := m.due(now.Add(time.Hour)); len(due) > 1 {
		t.Errorf("%v are due, although no group asks", due)
	}
}

func TestMadeUpNamesAreBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var m misses
	for i := range 3 * mostMisses {
		m.ask(missing{kindTemplate, fmt.Sprint(i)}, now)
	}
	if len(m.names) != mostMisses {
		t.Errorf("%d names are remembered", len(m.names))
	}
	if due := m.due(now); len(due) != missedAtOnce {
		t.Errorf("%d names are looked for at once", len(due))
	}
	for range mostMisses {
		m.due(now)
	}
	later := now.Add(missFirst + missLast + time.Minute)
	if !m.ask(missing{kindTemplate, "real"}, later) {
		t.Error("obsolete names keep others out")
	}
}
