package govmomi

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// knockPause is the time between knocks at a vCenter that is away. They do not wait for each other: one that hangs says nothing of the next.
const knockPause = time.Second

// answering waits until vCenter answers a stranger, and tells meanwhile why it does not; it reports false when ctx ended first. An
// attempt to connect is made when vCenter is back, and not when a pause that has grown ends. What a person has to mend is looked at more
// and more rarely. Another reason of the same kind is told now and then only, for the words of a broken connection are never the same twice.
func (s *Server) answering(ctx context.Context, tell func(error)) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan error)
	pause, kind, told := knockPause, s.awayFor(), s.cfg.Now()
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-next.C:
			go func() {
				err := s.knock(ctx)
				select {
				case answers <- err:
				case <-ctx.Done():
				}
			}()
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

// awayFor returns what kind of reason there is for having no connection, or "" if none is known.
func (s *Server) awayFor() vsphere.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.err == nil {
		return ""
	}
	return vsphere.KindOf(s.state.err)
}
