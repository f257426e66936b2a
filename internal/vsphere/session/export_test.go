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

// SetCallTimeout changes the timeout of calls. No other call can be in flight.
func SetCallTimeout(s *Session, d time.Duration) { s.cfg.CallTimeout = d }

// SOAPAction is the value of this header in the session's requests.
func SOAPAction(cfg Config) (string, error) {
	sc, err := newClient(cfg)
	if err != nil {
		return "", err
	}
	return sc.Namespace + "/" + sc.Version, nil
}
