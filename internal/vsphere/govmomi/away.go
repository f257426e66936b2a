package govmomi

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// knockPause is the time between knocks at an unreachable vCenter. The knocks are independent: one that hangs does not delay the next.
const knockPause = time.Second

// answering waits until vCenter answers an unauthenticated request, and reports meanwhile why it does not. It returns false if ctx ends
// first. The server connects when vCenter answers again, not when a long pause ends. For errors that need a user's action, the pause between
// knocks grows. Another error of the same kind is reported only occasionally, because the texts of broken connections always differ.
func (s *Server) answering(ctx context.Context, tell func(error)) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error)
	knock := func() {
		select {
		case answers <- s.knock(ctx):
		case <-ctx.Done():
		}
	}
	pause, kind, told := knockPause, s.awayFor(), s.cfg.Now()
	go knock()
	next := time.NewTimer(pause)
	for {
		select {
		case <-ctx.Done():
			return false
		case <-next.C:
			go knock()
			next.Reset(pause)
		case err := <-answers:
			if err == nil {
				return true
			}
			if ctx.Err() != nil {
				return false
			}
			now := vsphere.KindOf(err)
			if pause = min(2*pause, retryLast); now == vsphere.KindTransient {
				pause = knockPause
			} else {
				next.Reset(pause)
			}
			if now != kind || s.cfg.Now().Sub(told) >= retryLast {
				kind, told = now, s.cfg.Now()
				tell(err)
			}
		}
	}
}

// awayFor returns the kind of error that prevents a connection, or "" if none is known.
func (s *Server) awayFor() vsphere.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.err == nil {
		return ""
	}
	return vsphere.KindOf(s.state.err)
}
