//go:build unix

package stack

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

const (
	// sharedPatience is the timeout of the start. It includes the compilation of all programs on a new machine.
	sharedPatience = 20 * time.Minute
	// lastLines is the number of lines of each manager's log that a failed test prints.
	lastLines = 40
)

// Shared is the stack of all tests of a package. It starts when the first test calls Enter. Stack is nil before.
type Shared struct {
	*Stack
	options Options
	prepare func(context.Context, *Stack) error
	start   func() error
}

// Share returns a stack that is not started yet. prepare is called once the stack runs, and can be nil. The package's TestMain ends the stack with
// Run.
func Share(o Options, prepare func(context.Context, *Stack) error) *Shared {
	s := &Shared{options: o, prepare: prepare}
	s.start = sync.OnceValue(s.begin)
	return s
}

func (s *Shared) begin() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sharedPatience)
	defer cancel()
	if s.Stack, err = Start(ctx, s.options); err != nil {
		return err
	}
	if s.prepare != nil {
		if err := s.prepare(ctx, s.Stack); err != nil {
			return err
		}
	}
	ctx, started := s.WhileManagersRun(ctx)
	defer started()
	for name := range s.Members {
		if err := s.UntilServed(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Enter starts the stack if it does not run yet. If the start fails, the test fails.
func (s *Shared) Enter(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
}

// Run runs the package's tests, ends the stack, and returns the exit code.
func (s *Shared) Run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if s.Stack == nil {
		return code
	}
	if code != 0 {
		fmt.Fprintf(os.Stderr, "the managers' last words:\n%s\n", s.LastWords(lastLines))
	}
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
	}
	return code
}

// UntilServed waits until a MemberCluster is Ready.
func (s *Stack) UntilServed(ctx context.Context, member string) error {
	mc := &v1alpha1.MemberCluster{}
	if err := await.Condition(ctx, "member "+member+" to be served", func(ctx context.Context) (bool, error) {
		err := s.Hub.Get(ctx, client.ObjectKey{Name: member}, mc)
		return err == nil && IsReady(mc.Status.Conditions), err
	}); err != nil {
		return fmt.Errorf("%w; conditions: %s", err, Words(mc.Status.Conditions))
	}
	return nil
}
