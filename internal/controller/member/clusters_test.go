//go:build unix && !fast

package member

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// servers are the API servers of this package's integration tests. They start together for the first test
// that needs them, so that unit tests and fuzzing alone stay fast, and TestMain ends them.
type servers struct {
	hub, alpha, beta *localcluster.ControlPlane
}

var startServers = sync.OnceValues(func() (*servers, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	result := &servers{}
	group, ctx := errgroup.WithContext(ctx)
	for name, server := range map[string]**localcluster.ControlPlane{
		"hub": &result.hub, "alpha": &result.alpha, "beta": &result.beta,
	} {
		group.Go(func() error {
			started, err := localcluster.StartControlPlane(ctx, localcluster.Options{Name: name})
			if err != nil {
				return err
			}
			*server = started
			running.add(started)
			return prepare(started.Config)
		})
	}
	return result, group.Wait()
})

// prepare makes a server usable as a hub and as a member.
func prepare(config *rest.Config) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Paths:   []string{filepath.Join(root, "config/crd/bases/vm.codeconnect.vmworld.com_memberclusters.yaml")},
		MaxTime: 5 * time.Minute,
	})
	if err != nil {
		return fmt.Errorf("install the hub's CRDs: %w", err)
	}
	return nil
}

type runningServers struct {
	mu   sync.Mutex
	list []*localcluster.ControlPlane
}

func (r *runningServers) add(server *localcluster.ControlPlane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, server)
}

var running runningServers

func TestMain(m *testing.M) {
	ctrl.SetLogger(testLogger())
	code := m.Run()
	if n := unexpectedStates.Load(); n > 0 {
		fmt.Fprintf(os.Stderr, "%d times a connection entered a state that its table does not have\n", n)
		code = 1
	}
	for _, server := range running.list {
		if err := server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func clustersForTest(t *testing.T) *servers {
	t.Helper()
	result, err := startServers()
	if err != nil {
		t.Fatalf("start API servers: %v", err)
	}
	return result
}
