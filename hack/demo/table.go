//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// table shows all groups while a step runs. On a terminal it is redrawn in place; elsewhere it is printed once,
// when the step is done.
type table struct {
	demo  *demo
	live  bool
	lines int
	stopC chan struct{}
	wg    sync.WaitGroup
}

func newTable(d *demo) *table {
	info, err := d.out.Stat()
	return &table{demo: d, live: err == nil && info.Mode()&os.ModeCharDevice != 0, stopC: make(chan struct{})}
}

func (t *table) start(ctx context.Context) {
	if !t.live {
		return
	}
	t.wg.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-t.stopC:
				return
			case <-tick.C:
				t.draw(ctx)
			}
		}
	})
}

func (t *table) stop() {
	close(t.stopC)
	t.wg.Wait()
	t.draw(context.Background())
}

func (t *table) draw(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var b strings.Builder
	if t.live && t.lines > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", t.lines)
	}
	rows := t.rows(ctx)
	b.WriteString(rows)
	t.lines = strings.Count(rows, "\n")
	t.demo.printf("%s", b.String())
}

func (t *table) rows(ctx context.Context) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "   MEMBER\tGROUP\tPHASE\tCURRENT\tDESIRED\tREADY\tVMS\tLAST_MESSAGE")
	names := make([]string, 0, len(t.demo.stack.Members))
	for name := range t.demo.stack.Members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		groups := &v1alpha1.VmGroupList{}
		if err := t.demo.stack.Members[name].List(ctx, groups); err != nil {
			continue
		}
		for _, g := range groups.Items {
			s := g.Status
			_, _ = fmt.Fprintf(w, "   %s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\n", name, g.Name, s.Phase, s.CurrentReplicas, s.DesiredReplicas,
				s.ReadyReplicas, vmWords(s.VMs), shorten(s.LastMessage, 60))
		}
	}
	_ = w.Flush()
	return b.String()
}

// vmWords shows each VM as its ordinal and phase, for example 0:Ready 1:Cloning.
func vmWords(vms []v1alpha1.VMStatus) string {
	words := make([]string, 0, len(vms))
	for _, vm := range vms {
		words = append(words, fmt.Sprintf("%d:%s", vm.Ordinal, vm.Phase))
	}
	return shorten(strings.Join(words, " "), 56)
}

func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
