package original

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestThreeRunAtATimeAndNoMore(t *testing.T) {
	const n = 10
	var mu sync.Mutex
	running, most, ran := 0, 0, 0
	full := make(chan struct{})
	err := parallel(t.Context(), n, func(ctx context.Context, _ int) error {
		mu.Lock()
		running, ran = running+1, ran+1
		most = max(most, running)
		if running == width && ran == width {
			close(full)
		}
		mu.Unlock()
		select { // the first ones hold their slots until all are taken
		case <-full:
		case <-ctx.Done():
			return ctx.Err()
		}
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	})
	if err != nil || ran != n || most != 3 {
		t.Errorf("%d of %d ran, at most %d at a time, error %v", ran, n, most, err)
	}
}

func TestTheFirstFailureIsReturnedAndEndsTheOthers(t *testing.T) {
	boom := errors.New("boom")
	err := parallel(t.Context(), 2, func(ctx context.Context, i int) error {
		if i == 0 {
			return boom
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, boom) {
		t.Errorf("error %v, want %v", err, boom)
	}
}
