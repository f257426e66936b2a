package fairqueue

import (
	"testing"
	"time"
)

func TestDelaysAfterFailuresAreOfTheirItemAndEnd(t *testing.T) {
	random := 0.0
	b := NewBackoff[string](func() float64 { return random })
	for i, want := range []time.Duration{5, 10, 20, 40} {
		if got := b.When("one"); got != want*time.Millisecond {
			t.Errorf("delay %d is %v, want %v ms", i, got, int(want))
		}
	}
	for range 100 {
		b.When("one")
	}
	if got := b.When("one"); got != 30*time.Second {
		t.Errorf("after many failures %v", got)
	}
	if got := b.When("other"); got != 5*time.Millisecond {
		t.Errorf("another item waits %v", got)
	}
	b.Forget("one")
	if random = 1; b.When("one") != 4*time.Millisecond {
		t.Error("chance does not take off a fifth")
	}
}
