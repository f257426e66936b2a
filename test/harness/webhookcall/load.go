package webhookcall

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Load is a steady stream of requests. Each is sent when it is due, even if earlier ones are unanswered: a slow server gets no less work.
type Load struct {
	// Rate in requests per second.
	Rate int
	// Duration of the stream.
	Duration time.Duration
	// Valid is the body of the valid requests.
	Valid []byte
	// Hostile are sent in turn as every HostileEvery-th request. 0 means none.
	Hostile      []Hostile
	HostileEvery int
}

// Outcome of a Load.
type Outcome struct {
	// Milliseconds are the times from the due time of each valid request to its answer.
	Milliseconds []float64
	// Failures are valid requests without an answer or with a wrong one.
	Failures []string
	// Hostile counts the hostile requests by name and status. Status 0 means no answer.
	Hostile map[string]map[int]int
}

// Run sends the stream and returns when all valid requests have been answered. It cancels unanswered hostile requests.
func (c *Caller) Run(ctx context.Context, l Load) Outcome {
	hostileCtx, giveUp := context.WithCancel(ctx)
	out := Outcome{Hostile: map[string]map[int]int{}}
	var mu sync.Mutex
	var valid, hostile sync.WaitGroup
	interval := time.Second / time.Duration(l.Rate)
	began := time.Now()
	for i := range int(l.Duration / interval) {
		due := began.Add(time.Duration(i) * interval)
		if !waitUntil(ctx, due) {
			break
		}
		if l.HostileEvery > 0 && i%l.HostileEvery == 0 {
			h := l.Hostile[i/l.HostileEvery%len(l.Hostile)]
			hostile.Go(func() {
				status, _, _ := c.Post(hostileCtx, h.body(hostileCtx))
				mu.Lock()
				defer mu.Unlock()
				if out.Hostile[h.Name] == nil {
					out.Hostile[h.Name] = map[int]int{}
				}
				out.Hostile[h.Name][status]++
			})
			continue
		}
		valid.Go(func() {
			status, answer, err := c.Post(ctx, bytes.NewReader(l.Valid))
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil || status != http.StatusOK || !bytes.Contains(answer, []byte(`"allowed":true`)) {
				out.Failures = append(out.Failures, fmt.Sprintf("status %d, %v: %.200s", status, err, answer))
			}
			out.Milliseconds = append(out.Milliseconds, float64(took)/float64(time.Millisecond))
		})
	}
	valid.Wait()
	giveUp()
	hostile.Wait()
	return out
}

func waitUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
