package session

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
)

// Attend knocks at the server periodically until the session must not be used any more, and returns the reason. One reason is an
// unresponsive server: it answered neither a knock nor any other call within the time of a knock. A server that is slow for knocks but
// answers its sessions stays in use. The other reason is a changed certificate, even if older connections still work.
func (s *Session) Attend(ctx context.Context) error {
	for {
		if err := delay.For(ctx, s.cfg.knockEvery()); err != nil {
			return err
		}
		began := s.now()
		err := Repeat(ctx, func() error { return s.knock(ctx) })
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil || !IsCertificate(err) && s.heardSince(began):
		default:
			return knockError(s.cfg, err)
		}
	}
}

// listen notes that the server answered a call, even with a refusal.
func (s *Session) listen(err error) {
	if err != nil && !IsFault(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = s.now()
}

func (s *Session) heardSince(moment time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.heard.Before(moment)
}
