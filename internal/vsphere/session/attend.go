package session

import (
	"context"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
)

// Attend knocks at the server from time to time until it may not be used any more, and returns why. It is silent: neither a knock nor any
// other call was answered for as long as a knock may take; a server that is slow for strangers and answers its sessions is left in
// peace. Or it has another certificate, whatever connections that were opened before still say.
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

// listen notes that the server answered a call, even if it refused it.
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
