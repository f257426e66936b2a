package session

import (
	"context"
	"time"
)

// LoginAgain logs in although the session is logged in.
func LoginAgain(ctx context.Context, s *Session) error {
	generation, _ := s.Generation()
	return s.relogin(ctx, generation)
}

// SetCallTimeout changes the time of calls. No other call may be under way.
func SetCallTimeout(s *Session, d time.Duration) { s.cfg.CallTimeout = d }
