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

// SOAPAction is what a client of the session's says in this header.
func SOAPAction(cfg Config) (string, error) {
	sc, err := newClient(cfg)
	if err != nil {
		return "", err
	}
	return sc.Namespace + "/" + sc.Version, nil
}
