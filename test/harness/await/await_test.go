package await

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatHoldsEndsTheWait(t *testing.T) {
	asked := 0
	NoError(t, "the third question", func() error {
		if asked++; asked < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	True(t, "the fifth", func() bool { asked++; return asked == 5 })
	if asked != 5 {
		t.Errorf("asked %d times", asked)
	}
}

func TestAWaitInVainSaysWhatWasMissingAndNotThatItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("connection refused")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("a minute is over"))
		defer cancel()
		asked := 0
		err := Condition(ctx, "the server", func(ctx context.Context) (bool, error) {
			if asked++; asked > 3 {
				<-ctx.Done() // like a request that hangs
				return false, ctx.Err()
			}
			return false, gone
		})
		if !errors.Is(err, gone) || !strings.Contains(err.Error(), "the server") || !strings.Contains(err.Error(), "a minute is over") {
			t.Errorf("got %v", err)
		}
	})
}

func TestALongWaitAsksLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		asked := 0
		if err := Condition(ctx, "nothing", func(context.Context) (bool, error) { asked++; return true, errors.New("no") }); err == nil {
			t.Error("an error ended the wait well")
		}
		if asked < 240 || asked > 400 {
			t.Errorf("asked %d times in a minute", asked)
		}
	})
}

// stopped is a test whose Fatalf ends only a goroutine.
type stopped struct {
	testing.TB
	said string
}

func (*stopped) Helper() {}

func (s *stopped) Fatalf(format string, args ...any) {
	s.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestAChannelIsNotAwaitedForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := make(chan int, 1)
		values <- 7
		if got := Received(t, "a number", values); got != 7 {
			t.Errorf("received %d", got)
		}
		s, began, ended := &stopped{TB: t}, time.Now(), make(chan struct{})
		go func() {
			defer close(ended)
			Received(s, "another number", values)
		}()
		<-ended
		if took := time.Since(began); took != Patience || !strings.Contains(s.said, "another number") {
			t.Errorf("after %s: %q", took, s.said)
		}
	})
}
