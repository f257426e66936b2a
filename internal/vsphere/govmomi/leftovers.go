package govmomi

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// EndLeftovers asks for another search for sessions at vCenter that nobody uses any more, for a moment at which
// session.Process.Boots says more than before. It does not block: the search runs while the server is connected, and a
// connection that is made later begins with one.
func (s *Server) EndLeftovers() { kick(s.leftoverKick) }

// keepEndingLeftovers searches when it is asked to, until ctx ends. It never fails: nothing depends on it.
func (s *Server) keepEndingLeftovers(ctx context.Context, sess *session.Session) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.leftoverKick:
		}
		for !s.endLeftovers(ctx, sess) {
			if !sleep(ctx, retryLast) {
				return ctx.Err()
			}
		}
	}
}

// endLeftovers ends the sessions that nobody uses any more. It reports whether that is settled: another try would fail
// as well where the privilege is missing.
func (s *Server) endLeftovers(ctx context.Context, sess *session.Session) (settled bool) {
	if s.cfg.Session.Identity.Process == nil {
		return true
	}
	n, err := sess.EndLeftovers(ctx)
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil:
		s.log.Error(err, "Sessions that nobody uses any more could not be ended")
		return vsphere.KindOf(err) != vsphere.KindTransient
	case n > 0:
		s.log.Info("Ended sessions that nobody uses any more", "sessions", n)
	}
	return true
}
