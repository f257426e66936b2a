package session

import "context"

// LoginAgain logs in although the session is logged in.
func LoginAgain(ctx context.Context, s *Session) error {
	generation, _ := s.Generation()
	return s.relogin(ctx, generation)
}
