//go:build unix

package main

import (
	"github.com/codeconnect/vmgroup-operator/internal/term"

	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/hack/demo/tour"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// kubeconfig is the file for the clusters of a running demo, relative to the root of the repository.
const kubeconfig = "bin/demo.kubeconfig"

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

// stay prints commands for the running demo, and waits until the user ends it.
func (d *demo) stay(ctx context.Context) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	file := filepath.Join(root, kubeconfig)
	clusters := map[string][]byte{"hub": d.stack.Hub.Kubeconfig()}
	for name, member := range d.stack.Members {
		clusters[name] = member.Kubeconfig()
	}
	content, err := tour.Kubeconfig(metav1.NamespaceDefault, clusters)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(file) }()
	d.lookAround()
	<-ctx.Done()
	return nil
}

// lookAround prints commands that users can try. It does not fold the lines, so that users can copy them.
func (d *demo) lookAround() {
	d.printf("\n")
	d.say("Everything held so far, in %s, and stays up. From another terminal, in this directory:", progress.Elapsed(time.Since(d.began)))
	d.printf("\n  export KUBECONFIG=%s\n", kubeconfig)
	for _, c := range tour.Commands() {
		d.printf("\n  # %s\n  %s\n", c.Shows, c.Line)
	}
	d.printf("\n")
	d.say("Ctrl-C takes everything away.")
}

func since(t time.Time) time.Duration { return time.Since(t).Round(10 * time.Millisecond) }
