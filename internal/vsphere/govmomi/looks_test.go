package govmomi

import (
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// looks returns the times of the checks of a task with the given duration; the last check finds its end.
func looks(took, expected time.Duration) []time.Duration {
	at := []time.Duration{pause(0, expected, lookMargin)}
	for at[len(at)-1] < took {
		last := at[len(at)-1]
		at = append(at, last+pause(last, expected, lookMargin))
	}
	return at
}

func TestTheEndOfATaskIsFoundSoonAndWithFewLooks(t *testing.T) {
	for _, c := range []struct {
		name           string
		took, expected time.Duration
		late           time.Duration
		looks          int
	}{
		{"as long as the last ones", 2 * time.Second, 2 * time.Second, 60 * time.Millisecond, 3},
		{"less than a second, as expected", 300 * time.Millisecond, 300 * time.Millisecond, 60 * time.Millisecond, 1},
		{"a little longer", 2100 * time.Millisecond, 2 * time.Second, 100 * time.Millisecond, 4},
		{"minutes, as expected", 4 * time.Minute, 4 * time.Minute, 100 * time.Millisecond, 53},
		{"nothing is known", 2 * time.Second, 0, 500 * time.Millisecond, 9},
		{"much shorter than the last ones", 2 * time.Second, time.Hour, 2 * time.Second, 3},
		{"much longer than the last ones", 10 * time.Minute, 2 * time.Second, 5 * time.Second, 130},
		{"at once, as expected", 5 * time.Millisecond, 5 * time.Millisecond, 200 * time.Millisecond, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := looks(c.took, c.expected)
			if found := at[len(at)-1]; found-c.took > c.late || len(at) > c.looks {
				t.Errorf("found %s late after %d reads, at %v; want at most %s and %d", found-c.took, len(at), at, c.late, c.looks)
			}
		})
	}
}

func TestLaterTasksWeighMore(t *testing.T) {
	var d durations
	if got := d.expected(vsphere.OpClone); got != 0 {
		t.Errorf("expected %s before any task ended", got)
	}
	d.learn(vsphere.OpClone, 8*time.Second)
	d.learn(vsphere.OpClone, 4*time.Second)
	d.learn(vsphere.OpClone, 0) // a server without times
	d.learn(vsphere.OpPowerOn, time.Second)
	if got := d.expected(vsphere.OpClone); got != 7*time.Second {
		t.Errorf("expected %s, want 7s", got)
	}
}
