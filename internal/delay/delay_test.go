package delay_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
)

func TestADelayEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ended, end := context.WithCancel(t.Context())
		end()
		for story, c := range map[string]struct {
			ctx     context.Context
			d, took time.Duration
			err     error
		}{
			"its time":                    {t.Context(), time.Minute, time.Minute, nil},
			"no time":                     {t.Context(), -time.Second, 0, nil},
			"its context":                 {short, time.Minute, time.Second, context.DeadlineExceeded},
			"a context that has ended":    {ended, time.Minute, 0, context.Canceled},
			"no time, and an old context": {ended, 0, 0, context.Canceled},
		} {
			began := time.Now()
			if err := delay.For(c.ctx, c.d); !errors.Is(err, c.err) || story != "its context" && time.Since(began) != c.took {
				t.Errorf("%s: it took %s and ended with %v", story, time.Since(began), err)
			}
		}
	})
}
