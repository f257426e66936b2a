//go:build unix

package main

import (
	"github.com/codeconnect/vmgroup-operator/internal/term"

	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// table shows all groups while a step runs. On a terminal it is redrawn in place, as large as the terminal allows. Elsewhere it is printed
// once after the step, with the width of paper.
type table struct {
	demo   *demo
	live   bool
	reel   *reel
	screen term.Screen
	stopC  chan struct{}
	wg     sync.WaitGroup
}

func newTable(d *demo) *table {
	_, live := term.SizeOf(d.out)
	return &table{demo: d, live: live, reel: newReel(), stopC: make(chan struct{})}
}

func (t *table) start(ctx context.Context) error {
	if !t.live {
		return nil
	}
	watching, stop := context.WithCancel(ctx)
	for name, member := range t.demo.stack.Members {
		c, err := client.NewWithWatch(member.Config, client.Options{Scheme: member.Scheme()})
		if err != nil {
			stop()
			return fmt.Errorf("watch the groups of %s: %w", name, err)
		}
		t.wg.Go(func() { follow(watching, name, c, t.reel) })
	}
	t.wg.Go(func() {
		defer stop()
		t.redraw(ctx)
	})
	return nil
}

// redraw draws the rows until the step is done and all its states were shown.
func (t *table) redraw(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	stopped, done := false, t.stopC
	for {
		select {
		case <-ctx.Done():
			return
		case <-done:
			stopped, done = true, nil
		case now := <-tick.C:
			screen, _ := term.SizeOf(t.demo.out)
			t.draw(layout(t.reel.show(now), screen), screen)
			if stopped && !t.reel.behind() {
				return
			}
		}
	}
}

// stop draws the table for the last time. This table stays on screen, so it can be longer than the terminal.
func (t *table) stop() {
	close(t.stopC)
	t.wg.Wait()
	screen, _ := term.SizeOf(t.demo.out)
	t.draw(layout(t.rows(), term.Size{Width: screen.Width}), screen)
}

// draw replaces the previous lines.
func (t *table) draw(lines []string, screen term.Size) {
	t.demo.printf("%s", t.screen.Frame(lines, screen))
}

// rows returns the current rows of all groups.
func (t *table) rows() []row {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var rows []row
	for name, member := range t.demo.stack.Members {
		groups := &v1alpha1.VmGroupList{}
		if err := member.List(ctx, groups); err != nil {
			continue
		}
		for i := range groups.Items {
			rows = append(rows, newRow(name, &groups.Items[i]))
		}
	}
	sortRows(rows)
	return rows
}
