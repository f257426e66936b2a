package session

import (
	"context"
	"crypto/x509"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vim25/methods"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func hang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, Config{}.knockEvery())
	defer cancel()
	<-ctx.Done()
	return ctx.Err()
}

// attended attends a session for ten minutes at most, and returns when that ended.
func attended(t *testing.T, s *Session) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	began := time.Now()
	err := s.Attend(ctx)
	if ctx.Err() != nil {
		return 0, nil
	}
	return time.Since(began), err
}

func TestAVCenterThatFallsSilentIsNoticedWithinSixteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted()
		s.knock = hang
		if took, err := attended(t, s); took != 16*time.Second || vsphere.KindOf(err) != vsphere.KindTransient {
			t.Errorf("noticed after %s: %v", took, err)
		}
	})
}

func TestAVCenterThatAnswersNoStrangerAndItsSessionsIsNotSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted(times(1000, faultOf("NoPermission"))...)
		s.knock = hang
		go func() {
			for delay.For(t.Context(), 5*time.Second) == nil {
				_, _ = methods.GetCurrentTime(t.Context(), s.Client()) // a rejection is a response
			}
		}()
		if took, err := attended(t, s); took != 0 {
			t.Errorf("given up after %s: %v", took, err)
		}
	})
}

func TestACallThatIsNotAnsweredIsNoSignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted(times(1000, silent)...)
		s.knock = hang
		go func() {
			for delay.For(t.Context(), 5*time.Second) == nil {
				_, _ = methods.GetCurrentTime(t.Context(), s.Client())
			}
		}()
		if took, _ := attended(t, s); took != 16*time.Second {
			t.Errorf("noticed after %s", took)
		}
	})
}

func TestAKnockIsRepeatedLikeAnyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted()
		knocks := 0
		s.knock = func(context.Context) error {
			if knocks++; knocks <= 60 && knocks%6 != 0 || knocks > 60 {
				return io.EOF
			}
			return nil
		}
		// Ten succeed at the last try, the eleventh does not.
		if took, err := attended(t, s); took != 11*(8*time.Second+1550*time.Millisecond) || vsphere.KindOf(err) != vsphere.KindTransient {
			t.Errorf("given up after %s: %v", took, err)
		}
	})
}

func TestAnotherCertificateIsToldAtOnceWhateverElseIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := scripted()
		s.knock = func(ctx context.Context) error {
			if delay.For(ctx, time.Second) != nil {
				return ctx.Err()
			}
			return x509.UnknownAuthorityError{}
		}
		go func() {
			for delay.For(t.Context(), 300*time.Millisecond) == nil {
				_, _ = methods.GetCurrentTime(t.Context(), s.Client())
			}
		}()
		if took, err := attended(t, s); took != 9*time.Second || vsphere.KindOf(err) != vsphere.KindCertificate {
			t.Errorf("reported after %s: %v", took, err)
		}
	})
}
