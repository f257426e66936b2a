//go:build unix

package localcluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// sharedPatience is the timeout of the start. It includes the compilation of the servers on a new machine.
const sharedPatience = 20 * time.Minute

// Shared is the control plane of all tests of a package. It starts when the first test calls Get, so that tests without it stay fast.
type Shared struct {
	start   func() error
	started *ControlPlane
}

// Share returns a control plane that is not started yet. The package's TestMain ends it with Run.
func Share(name string) *Shared {
	s := &Shared{}
	s.start = sync.OnceValue(func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), sharedPatience)
		defer cancel()
		s.started, err = StartControlPlane(ctx, Options{Name: name})
		return err
	})
	return s
}

// Run runs the package's tests, ends the control plane, and returns the exit code. It is all that TestMain does, but for the Stop of others.
func (s *Shared) Run(m *testing.M) int { return s.Stop(m.Run()) }

// Stop ends the control plane if it was started, and returns the exit code, which is not 0 if that fails.
func (s *Shared) Stop(code int) int {
	if s.started == nil {
		return code
	}
	if err := s.started.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Get starts the control plane if it does not run yet. If the start fails, the test fails.
func (s *Shared) Get(tb testing.TB) *ControlPlane {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatalf("start an API server: %v", err)
	}
	return s.started
}

// ForTest starts a separate control plane for a test, which ends with the test.
func ForTest(tb testing.TB, name string) *ControlPlane {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), sharedPatience)
	defer cancel()
	started, err := StartControlPlane(ctx, Options{Name: name})
	if err != nil {
		tb.Fatalf("start an API server: %v", err)
	}
	tb.Cleanup(func() {
		if err := started.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return started
}

// UserConfig returns the configuration of another user, without rights until RBAC objects grant some.
func (c *ControlPlane) UserConfig(tb testing.TB, user string) *rest.Config {
	tb.Helper()
	config, err := c.userConfig(user)
	if err != nil {
		tb.Fatal(err)
	}
	return config
}
