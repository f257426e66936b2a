package vsphere

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWhatIsNotUnderstoodIsTriedAgainAndNeverTakenForAbsent(t *testing.T) {
	for _, err := range []error{errors.New("EOF"), context.DeadlineExceeded, fmt.Errorf("read: %w", errors.New("x"))} {
		if kind := KindOf(err); kind != KindTransient {
			t.Errorf("KindOf(%v) = %s", err, kind)
		}
	}
	wrapped := fmt.Errorf("pass: %w", &Error{Kind: KindNotFound, Op: "read vm-1", OutcomeUnknown: true, Err: errors.New("gone")})
	if KindOf(wrapped) != KindNotFound || !IsOutcomeUnknown(wrapped) {
		t.Errorf("a wrapped error lost its kind: %v", wrapped)
	}
	if got := wrapped.Error(); got != "pass: read vm-1: gone" {
		t.Errorf("message %q", got)
	}
}

func TestAContextWithoutAFenceMayNotMutate(t *testing.T) {
	closed := errors.New("the shard was lost")
	for story, c := range map[string]struct {
		ctx     context.Context
		allowed bool
	}{
		"no fence":      {t.Context(), false},
		"a nil fence":   {WithFence(t.Context(), nil), false},
		"a shut fence":  {WithFence(t.Context(), func() error { return closed }), false},
		"an open fence": {WithFence(t.Context(), func() error { return nil }), true},
	} {
		err := CheckFence(c.ctx)
		if (err == nil) != c.allowed {
			t.Errorf("%s: %v", story, err)
		}
		if err != nil && KindOf(err) != KindFenced {
			t.Errorf("%s: kind %s", story, KindOf(err))
		}
	}
}

func TestWhatAVCenterAnswersIsShownHarmless(t *testing.T) {
	err := &Error{Kind: KindSpec, Op: "clone web-0 from \x1b[2Jdebian", Err: errors.New("no\u202ehost\n" + strings.Repeat("x", 10_000))}
	if got := err.Error(); !strings.HasPrefix(got, "clone web-0 from �[2Jdebian: no�host x") || len(got) > maxError {
		t.Errorf("%d bytes: %q", len(got), got[:80])
	}
}
