package govmomi

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// predecessorInterval is the interval of the search for sessions of a predecessor.
const predecessorInterval = 30 * time.Second

// predecessor is an installation whose VMs this installation adopts.
type predecessor struct {
	// named is its UID, or "".
	named string
	// gone is true after vCenter confirmed that it has no session. problem is the reason why gone is false.
	gone    bool
	problem string
}

// SetPredecessor names the installation whose VMs this one adopts, or "". It does not block, and can be called repeatedly.
func (s *Server) SetPredecessor(installation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.predecessor.named != installation {
		s.predecessor = predecessor{named: installation}
		kick(s.predecessorKick)
	}
}

// watchPredecessor checks whether the predecessor has ended, until ctx ends. It never fails: until the result is known, no VM is adopted.
func (s *Server) watchPredecessor(ctx context.Context, sess *session.Session) error {
	defer s.foundPredecessor(predecessor{}) // no check runs any more
	tick := time.NewTicker(predecessorInterval)
	defer tick.Stop()
	for {
		s.mu.Lock()
		next := predecessor{named: s.predecessor.named}
		s.mu.Unlock()
		if next.named != "" {
			n, last, err := sess.Living(ctx, next.named)
			switch {
			case err != nil:
				next.problem = err.Error()
			case n > 0:
				next.problem = fmt.Sprintf("installation %s has sessions at this vCenter (%d, the last one used at %s): it lives, or it ended a short while ago "+
					"and vCenter has not ended its sessions yet", next.named, n, last.UTC().Format(time.RFC3339))
			default:
				next.gone = true
			}
			s.foundPredecessor(next)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.predecessorKick:
		case <-tick.C:
		}
	}
}

// foundPredecessor stores the result of a check, unless another predecessor was named meanwhile.
func (s *Server) foundPredecessor(next predecessor) {
	s.mu.Lock()
	changed := false
	if next.named == "" {
		next.named = s.predecessor.named
	}
	if next.named == s.predecessor.named {
		changed = s.predecessor.gone != next.gone || s.predecessor.problem != next.problem
		s.predecessor = next
	}
	s.mu.Unlock()
	if changed {
		s.serverChanged()
	}
}

// left returns the predecessor after its end, or "".
func (p predecessor) left() string {
	if p.gone {
		return p.named
	}
	return ""
}
