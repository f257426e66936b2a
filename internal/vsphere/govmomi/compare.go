package govmomi

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
)

const (
	// compareAfter is the time for a stream to show what another read has shown already.
	compareAfter = 3 * time.Second
	// compareLast is the longest pause between two reads of a VM whose configuration vCenter has but could not return. The pauses double from compareAfter.
	compareLast = time.Minute
)

// comparison selects the objects that the index and a stream show differently. It remembers each difference, so that each is looked up once.
type comparison struct {
	found map[inventory.Difference]bool
}

// look returns the objects that both show below the root, and those that only one of them shows. With again it repeats VMs that could not be read whole.
func (c *comparison) look(all []inventory.Difference, again bool) (both, one []vsphere.Ref, unread bool) {
	still := make(map[inventory.Difference]bool, len(all))
	for _, d := range all {
		still[d] = true
		unread = unread || d.Unread
		switch {
		case c.found[d] && (!again || !d.Unread):
		case d.Both:
			both = append(both, d.Ref)
		default:
			one = append(one, d.Ref)
		}
	}
	c.found = still
	return both, one, unread
}

// compares looks up the differences between index and stream once more, a while after each application. A read between two answers of the stream can see a
// state that is reverted by the second answer. The stream does not report such a state.
func (f *watchFeed) compares(ctx context.Context, shown *inventory.Shown) error {
	var c comparison
	var timer <-chan time.Time
	for pause := compareAfter; ; {
		again := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer:
			again, pause = true, min(2*pause, compareLast)
		case <-f.server.compareKick:
			if !sleep(ctx, compareAfter) {
				return ctx.Err()
			}
		}
		both, one, unread := c.look(f.server.index.Differences(shown), again)
		f.server.readAgain(both...)
		f.server.wanted(one)
		switch {
		case !unread:
			timer, pause = nil, compareAfter
		case timer == nil || again:
			timer = time.After(pause)
		}
	}
}
