//go:build unix && slow

package failover

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestFailoverACallThatLastsLongerThanTheRightToMakeItIsGivenUp: vCenter creates the VM, at once or late, after the
// requesting replica has lost the hub. The replica must cancel the call in time; the next owner finds the VM and keeps
// it.
func TestFailoverACallThatLastsLongerThanTheRightToMakeItIsGivenUp(t *testing.T) {
	ctx, s := story(t)
	same := s.sameProcesses()
	for _, way := range []struct {
		name string
		slow func(ctx context.Context, boot, method string) *slowCall
	}{
		{"answered late", func(ctx context.Context, boot, method string) *slowCall {
			return s.slowCall(ctx, boot, method, 20*time.Second)
		}},
		// After its right has ended, and before the next owner ends its login.
		{"carried out late", s.lateCall},
	} {
		victim := s.busiest(ctx)
		boot := s.bootOf(victim)
		call := way.slow(ctx, boot, "CloneVM_Task")
		began := call.wait()
		lost := lose("black-holed", victim)
		call.count()
		s.ownedAgain(boot, lost)
		call.end()
		reconnect(victim)
		given := func() []Call {
			return slices.DeleteFunc(s.history().Of(boot).GivenUp(), func(c Call) bool { return !c.Start.Equal(began) })
		}
		s.until(ctx, "the call that was given up to be over for vCenter as well", func() bool { return len(given()) == 1 })
		for _, c := range given() {
			s.Logf("%s: given up %s after the hub was lost, carried out %s later: %s", way.name, round(c.End.Sub(lost)), round(c.Finished.Sub(c.End)), c)
			if c.End.After(lost.Add(validity)) {
				s.Errorf("%s: it held on to the call for %s after the hub was lost, want at most %s", way.name, round(c.End.Sub(lost)), round(validity))
			}
		}
		s.untilShared(ctx)
	}
	same()
	s.end(ctx)
}
