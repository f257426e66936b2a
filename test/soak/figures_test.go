package soak

import (
	"maps"
	"strings"
	"testing"
)

func TestFiguresAreReadFromProfilesAndMetrics(t *testing.T) {
	f := Figures{}
	if err := f.AddHeap("heap profile: 1: 2 [3: 4] @ heap/1048576\n# HeapSys = 7\n# HeapAlloc = 6100200\n"); err != nil {
		t.Error(err)
	}
	if err := f.AddGoroutines("goroutine 1 [chan receive]:\nmain.main()\n\t/m.go:1\n\ngoroutine 7 [select]:\na.B()\ncreated by net/http.(*Server).Serve in goroutine 5\n\n" +
		"goroutine 8 [select]:\na.B()\ncreated by net/http.(*Server).Serve in goroutine 5\n"); err != nil {
		t.Error(err)
	}
	f.AddSeries("# HELP up is it\n# TYPE up gauge\nup 1\nrequests_total{code=\"200\",member=\"team-a\"} 7\nrequests_total{code=\"500\",member=\"team-a\"} 1\nreviews{member=\"\"} 1\n")
	want := Figures{Heap: 6100200, Goroutines: 3, "goroutines: net/http.(*Server).Serve": 2, Series: 4, "series: up": 1, "series: reviews": 1, "series: requests_total": 2,
		Objects: 1, "objects named in series: member team-a": 1}
	if !maps.Equal(f, want) {
		t.Errorf("got %v, want %v", f, want)
	}
	for _, err := range []error{f.AddHeap("401 Unauthorized"), f.AddGoroutines("401 Unauthorized")} {
		if err == nil {
			t.Error("a refusal is taken for a profile")
		}
	}
}

func TestWhatGrewIsNamed(t *testing.T) {
	before := Figures{Goroutines: 100, "goroutines: a": 60, "goroutines: b": 40, Series: 100}
	after := Figures{Goroutines: 106, "goroutines: a": 60, "goroutines: b": 41, "goroutines: c": 5, Series: 105}
	bounds := []Bound{{Figure: Goroutines, Share: 0.05}, {Figure: Series, Share: 0.05}, {Figure: "sessions", Above: 2}}
	got := Grown(bounds, before, after)
	if len(got) != 1 || !strings.HasPrefix(got[0], "goroutines: 106, at most 105 (reference 100)\n  +5 c\n  +1 b") {
		t.Errorf("got %q", got)
	}
	after["sessions"] = 3
	if got := Grown(bounds, before, after); len(got) != 2 || !strings.HasPrefix(got[1], "sessions: 3, at most 2") {
		t.Errorf("got %q", got)
	}
}
