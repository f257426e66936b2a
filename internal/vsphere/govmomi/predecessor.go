package govmomi

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// predecessorInterval is how often sessions of a predecessor are looked for.
const predecessorInterval = 30 * time.Second

// predecessor is an installation whose VMs are to be this one's.
type predecessor struct {
	// named is its UID, or empty.
	named string
	// gone is true once vCenter said that it has no session; problem says why that is not so.
	gone    bool
	problem string
}

// SetPredecessor names the installation whose VMs this one takes over; empty for none. It does not block, and may be called again and again.
func (s *Server) SetPredecessor(installation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.predecessor.named != installation {
		s.predecessor = predecessor{named: installation}
		kick(s.predecessorKick)
	}
}

// watchPredecessor looks whether the predecessor is gone, until ctx ends. It never fails: until it knows, nothing is taken over.
func (s *Server) watchPredecessor(ctx context.Context, sess *session.Session) error {
	defer s.foundPredecessor(predecessor{}) // nobody looks any more
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

// foundPredecessor stores what was found of the predecessor, unless another one was named meanwhile.
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

// left is the predecessor once it is gone, or "".
func (p predecessor) left() string {
	if p.gone {
		return p.named
	}
	return ""
}
