//go:build unix

package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/codeconnect/vmgroup-operator/test/vcsim/sim"
)

// VCenter is the simulated vCenter. It is a process of its own, since govmomi's simulator has data races that
// the race detector would report as the tests'.
type VCenter struct {
	*Process
	// URL of the SDK, not through the proxy.
	URL string
}

func (s *Stack) startVCenter(ctx context.Context, o sim.Options) (*VCenter, error) {
	binary, err := build(ctx, "vcsim", "./test/vcsim", s.opts.Out)
	if err != nil {
		return nil, err
	}
	readyFile := filepath.Join(s.Dir, "vcsim.json")
	process, err := start(s.Dir, "vcsim", binary,
		"-templates="+strings.Join(o.Templates, ","), "-clone-delay="+o.CloneDelay.String(),
		"-username="+username, "-password="+password, "-ready-file="+readyFile)
	if err != nil {
		return nil, err
	}
	vcenter := &VCenter{Process: process}
	err = WaitFor(ctx, "the vCenter simulator to serve", func(context.Context) (bool, error) {
		select {
		case <-process.Done():
			return false, errors.New(process.Tail(5))
		default:
		}
		content, err := os.ReadFile(readyFile)
		if err != nil {
			return false, err
		}
		var ready struct{ URL string }
		err = json.Unmarshal(content, &ready)
		vcenter.URL = ready.URL
		return ready.URL != "", err
	})
	return vcenter, err
}

// StartManager starts the operator on a hub.
func (s *Stack) StartManager(ctx context.Context, name string, hub *Cluster, args ...string) (*Process, error) {
	binary, err := build(ctx, "manager", "./cmd/manager", s.opts.Out)
	if err != nil {
		return nil, err
	}
	process, err := start(s.Dir, name, binary, append([]string{
		"--kubeconfig=" + hub.KubeconfigFile, "--namespace=" + Namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("hub %s: %w", hub.Name, err)
	}
	return process, nil
}
