//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Runner tries points on several concurrent lanes: a trial mostly waits.
type Runner struct {
	lanes []*Lane
	out   io.Writer
}

// NewRunner starts n lanes. ctx limits only the start; out receives the build output.
func NewRunner(ctx context.Context, n int, out io.Writer) (*Runner, error) {
	r := &Runner{lanes: make([]*Lane, n), out: out}
	var g errgroup.Group
	for i := range r.lanes {
		g.Go(func() (err error) {
			r.lanes[i], err = NewLane(ctx, out)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// Stop ends all lanes.
func (r *Runner) Stop() error {
	var errs []error
	for _, l := range r.lanes {
		if l != nil {
			errs = append(errs, l.Stop())
		}
	}
	return errors.Join(errs...)
}

// Learn runs scenarios undisturbed and returns all their points, in the order of the scenarios.
func (r *Runner) Learn(ctx context.Context, scenarios []Scenario) ([]Point, error) {
	found := make([][]Point, len(scenarios))
	err := r.each(ctx, len(scenarios), func(l *Lane, i int) error {
		trace, err := l.Learn(ctx, scenarios[i])
		if err != nil {
			return fmt.Errorf("%w\nthe manager's last words:\n%s", err, l.Log(40))
		}
		found[i] = Enumerate(scenarios[i].Name, trace)
		return nil
	})
	return slices.Concat(found...), err
}

// Result is the outcome of one point.
type Result struct {
	Point
	Outcome
	Took time.Duration
	// Log are the manager's last lines, on failure.
	Log string
}

// Try tries points and calls done for each, one call at a time. A trial that cannot be completed fails too: that
// includes a spec that is never fulfilled. The lane is then replaced.
func (r *Runner) Try(ctx context.Context, scenarios []Scenario, points []Point, done func(Result) error) error {
	var mu sync.Mutex
	return r.each(ctx, len(points), func(l *Lane, i int) error {
		p := points[i]
		s := scenarios[slices.IndexFunc(scenarios, func(s Scenario) bool { return s.Name == p.Scenario })]
		began := time.Now()
		out, err := l.Try(ctx, s, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		result := Result{Point: p, Outcome: out, Took: time.Since(began)}
		if err != nil {
			result.Wrong = append(result.Wrong, err.Error())
		}
		if len(result.Wrong) > 0 {
			result.Log = l.Log(60)
			if err := l.renew(ctx, r.out); err != nil {
				return err
			}
		}
		mu.Lock()
		defer mu.Unlock()
		return done(result)
	})
}

// each calls f for 0..n-1, one call at a time on each lane, until one fails or ctx ends.
func (r *Runner) each(ctx context.Context, n int, f func(*Lane, int) error) error {
	queue := make(chan int, n)
	for i := range n {
		queue <- i
	}
	close(queue)
	g, ctx := errgroup.WithContext(ctx)
	for _, l := range r.lanes {
		g.Go(func() error {
			for i := range queue {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if err := f(l, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
