// Package health checks whether the operator on a hub is healthy, for manager check and kubectl vmgroup check.
package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Options choose what is checked.
type Options struct {
	// Namespace of the operator, and the name of its Deployment.
	Namespace, Deployment string
	// Replicas is the required number of replicas. 0 means the number in the Deployment.
	Replicas int
	// Strict lets warnings fail the check.
	Strict bool
	// Wait is for how long the check is repeated while it fails.
	Wait    time.Duration
	Webhook Webhook
}

type level int

const (
	fine level = iota
	warning
	failure
)

func (l level) String() string { return [...]string{"ok", "warn", "FAIL"}[l] }

// finding is a line of the check's output.
type finding struct {
	level level
	about string
	says  string
	// todo is the action that the user can take.
	todo string
}

// Validate returns an error that names a wrong flag.
func (o Options) Validate() error {
	switch {
	case o.Replicas < 0 || o.Wait < 0:
		return errors.New("--replicas and --wait must not be negative")
	case o.Webhook.URL != "" && !strings.HasPrefix(o.Webhook.URL, "https://"):
		return errors.New("--webhook-url must begin with https://")
	}
	return nil
}

// ErrNotAllowed reports that the identity of the check may not read all that it needs.
var ErrNotAllowed = errors.New("a permission is missing")

// ErrUnhealthy reports that the check found a failure.
var ErrUnhealthy = errors.New("the operator is not healthy")

// Check checks the hub of a client configuration once, or repeatedly until all is well or the time is up, and prints the last result. The error is
// [ErrNotAllowed] if the check may not read something, else [ErrUnhealthy] if something failed.
func Check(ctx context.Context, kubeconfig *rest.Config, o Options, out io.Writer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	o.Webhook.URL = bracketed(o.Webhook.URL)
	look, err := newLook(kubeconfig, o)
	if err != nil {
		return err
	}
	return look.report(ctx, out)
}

// worstOf returns the worst level; warnings count only if strict.
func worstOf(found []finding, strict bool) level {
	worst := fine
	for _, f := range found {
		worst = max(worst, f.level)
	}
	if worst == warning && !strict {
		return fine
	}
	return worst
}

// report runs all checks, repeats them while they fail and time is left, and prints the last result.
func (l *look) report(ctx context.Context, out io.Writer) error {
	deadline := time.NewTimer(l.Wait)
	defer deadline.Stop()
	for {
		found := l.all(ctx)
		worst := worstOf(found, l.Strict)
		if worst > fine {
			select {
			case <-deadline.C:
			case <-ctx.Done():
			case <-time.After(time.Second):
				continue
			}
		}
		if err := printFindings(out, found); err != nil {
			return err
		}
		switch {
		case worst == fine:
			return nil
		case l.refused:
			return ErrNotAllowed
		}
		return ErrUnhealthy
	}
}

func printFindings(out io.Writer, found []finding) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range found {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.level, untrusted.Text(f.about, maxCell), untrusted.Text(f.says, maxCell))
		if f.todo != "" {
			_, _ = fmt.Fprintf(table, "\t\t-> %s\n", f.todo)
		}
	}
	return table.Flush()
}

func newLook(kubeconfig *rest.Config, o Options) (*look, error) {
	hub, err := Client(kubeconfig)
	if err != nil {
		return nil, err
	}
	return &look{Options: o, config: kubeconfig, hub: hub}, nil
}

// Client returns a client of a hub, with the kinds of the operator.
func Client(kubeconfig *rest.Config) (client.Client, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	hub, err := client.New(kubeconfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the hub: %w", err)
	}
	return hub, nil
}
