package govmomi

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAVCenterThatAnswersAgainIsNoticedWithinASecondHoweverLongItWasAway(t *testing.T) {
	for name, away := range map[string]func(context.Context) error{
		"silent": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 8*time.Second)
			defer cancel()
			<-ctx.Done()
			return ctx.Err()
		},
		"refusing": func(context.Context) error { return io.EOF },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const outage = 9*time.Minute + 300*time.Millisecond
				s := New(Config{})
				began := time.Now()
				s.knock = func(ctx context.Context) error {
					if time.Since(began) < outage {
						return away(ctx)
					}
					return nil
				}
				told := 0
				back := s.answering(t.Context(), func(err error) {
					told++
					s.disconnected(err, "away")
				})
				if late := time.Since(began) - outage; !back || late < 0 || late > knockPause {
					t.Errorf("noticed %s after it was back: %t", late, back)
				}
				if most := int(outage/retryLast) + 2; told == 0 || told > most {
					t.Errorf("reported %d times, want 1 to %d", told, most)
				}
			})
		})
	}
}

func TestAVCenterThatAPersonHasToMendIsAskedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{})
		var knocks atomic.Int32 // the last knock can still be in flight when the wait has ended
		s.knock = func(context.Context) error {
			knocks.Add(1)
			return &vsphere.Error{Kind: vsphere.KindCertificate, Op: "connect", Err: errors.New("not trusted")}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		var kinds []vsphere.Kind
		back := s.answering(ctx, func(err error) {
			kinds = append(kinds, vsphere.KindOf(err))
			s.disconnected(err, "away")
		})
		if n := knocks.Load(); back || n < 20 || n > 30 {
			t.Errorf("asked %d times in ten minutes, back: %t", n, back)
		}
		if len(kinds) == 0 || kinds[0] != vsphere.KindCertificate {
			t.Errorf("reported %v", kinds)
		}
	})
}
