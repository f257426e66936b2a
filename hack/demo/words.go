//go:build unix

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/hack/demo/tour"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// printf writes to the terminal. It ignores errors: if the terminal was closed, the step still counts.
func (d *demo) printf(format string, args ...any) { _, _ = fmt.Fprintf(d.out, format, args...) }

// fold writes a text in lines of at most 80 columns, or the width of a narrower terminal.
func (d *demo) fold(first, rest, text string) {
	screen, _ := term.SizeOf(d.out)
	for _, line := range progress.Fold(text, first, rest, min(screen.Width-1, progress.Columns)) {
		d.printf("%s\n", line)
	}
}

func (d *demo) say(format string, args ...any) { d.fold("", "", fmt.Sprintf(format, args...)) }

// note saves a sentence for the end of the step.
func (d *demo) note(format string, args ...any) {
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// tryNext is the end of a successful demo.
func (d *demo) tryNext() {
	d.printf("\n")
	d.say("Try next:")
	for _, line := range []string{
		"make demo DEMO=stay            the same, and it stays up for you and kubectl",
		"README.md, Install             the operator on your cluster and vCenter",
		"docs/explanation/concepts.md   hub and members, and what happens in an outage",
	} {
		d.printf("  %s\n", line)
	}
}

// stay starts a cluster that users can join, prints commands for the running demo, and waits until the user ends it.
func (d *demo) stay(ctx context.Context) error {
	spare, err := d.stack.StartCluster(ctx, tour.Spare)
	if err != nil {
		return err
	}
	defer func() { _ = spare.Stop() }()
	if _, err := d.writeKubeconfig(spare); err != nil {
		return err
	}
	d.lookAround()
	<-ctx.Done()
	return nil
}

// lookAround prints commands that users can try. It does not fold the lines, so that users can copy them.
func (d *demo) lookAround() {
	d.printf("\n")
	d.say("Everything held so far, in %s, and stays up. From another terminal, in this directory:", progress.Elapsed(time.Since(d.began)))
	d.printf("\n  export KUBECONFIG=$PWD/%s PATH=$PWD/bin:$PATH\n", kubeconfig)
	d.printf("\n")
	for _, c := range tour.Commands() {
		d.printf("  %-55s # %s\n", c.Line, c.Shows)
	}
	d.printf("\n")
	d.say("docs/tutorial/demo.md leads through your first hour.")
	d.say("Ctrl-C takes everything away.")
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }
