package main

import (
	"math"
	"testing"
	"time"
)

// every returns n actions of a process, one each interval from start on.
func every(by string, n int, start, interval time.Duration) []deed {
	deeds := make([]deed, n)
	for i := range deeds {
		deeds[i] = deed{by, time.Unix(1000, 0).Add(start + time.Duration(i)*interval)}
	}
	return deeds
}

func TestOnlyTheTimeCountsInWhichAllHaveWork(t *testing.T) {
	deeds := append(every("a", 10, 0, time.Second), every("b", 3, time.Second/2, time.Second)...)
	moments := together(deeds, 2)
	// b ends at 2.5 s: three actions of each.
	if len(moments) != 6 || !moments[5].Equal(time.Unix(1002, 5e8)) {
		t.Errorf("moments %v", moments)
	}
	if got := together(deeds, 3); got != nil {
		t.Errorf("with a third process that did nothing: %v", got)
	}
}

func TestPacesAreDeedsPerSecondOfEachStretch(t *testing.T) {
	// 1 s apart up to 5 s, then 0.5 s apart; the ninth is too few for a separate stretch.
	moments := together(append(every("a", 6, 0, time.Second), every("a", 5, 5500*time.Millisecond, 500*time.Millisecond)...), 1)
	got := paces(moments, 2, 4)
	if len(got) != 2 || got[0] != 1 || got[1] != 2 {
		t.Errorf("paces %v, want 1 and 2 a second", got)
	}
	if got := paces(moments[:5], 2, 4); len(got) != 0 {
		t.Errorf("paces %v of too few", got)
	}
	if !math.IsNaN(median(paces(nil, 1, 1))) {
		t.Error("no deeds have a pace")
	}
}
