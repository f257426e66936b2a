package govmomi

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// EndLeftovers requests another search for unused sessions at vCenter. Call it when session.Process.Boots has changed.
// It does not block: the search runs while the server is connected, and every new connection begins with a search.
func (s *Server) EndLeftovers() { kick(s.leftoverKick) }

// keepEndingLeftovers searches on request until ctx ends. It never fails, because nothing depends on it.
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

// endLeftovers ends unused sessions. It reports whether no retry is needed. Without the privilege, a retry would fail
// as well.
func (s *Server) endLeftovers(ctx context.Context, sess *session.Session) (settled bool) {
	if s.cfg.Session.Identity.Process == nil {
		return true
	}
	n, err := sess.EndLeftovers(ctx)
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil && vsphere.KindOf(err) == vsphere.KindTransient:
		s.log.Info("Failed to end unused sessions, and tries again", "cause", err.Error())
		return false
	case err != nil:
		s.log.Error(err, "Failed to end unused sessions")
	case n > 0:
		s.log.Info("Ended unused sessions", "sessions", n)
	}
	return true
}
