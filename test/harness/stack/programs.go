//go:build unix

package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// VCenter is the simulated vCenter. It is a separate process, because govmomi's simulator has data races, which the race detector would report
// for the tests.
type VCenter struct {
	*Process
	// URL of the SDK, without the proxy.
	URL string
}

// Address is the host and port of the SDK.
func (v *VCenter) Address() string {
	u, err := url.Parse(v.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// StartVCenter starts another simulated vCenter, or the same one again after it ended, with an empty inventory. It uses only the options Listen,
// Templates, CloneDelay, Privileges and InstanceUUID. The caller stops it.
func (s *Stack) StartVCenter(ctx context.Context, name string, o sim.Options) (*VCenter, error) {
	binary, err := build(ctx, "vcsim", vcsimPackage, false, s.opts.Out)
	if err != nil {
		return nil, err
	}
	if o.Listen == "" {
		p, err := reservePort()
		if err != nil {
			return nil, err
		}
		s.vcenters.Lock()
		s.vcenterPorts = append(s.vcenterPorts, p)
		s.vcenters.Unlock()
		o.Listen = p.address
	}
	readyFile := filepath.Join(s.Dir, name+".json")
	if err := os.Remove(readyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	process, err := start(s.Dir, name, binary,
		"-listen="+o.Listen,
		"-templates="+strings.Join(o.Templates, ","), "-clone-delay="+o.CloneDelay.String(), "-instance-uuid="+o.InstanceUUID, "-privileges="+strings.Join(o.Privileges, ","),
		"-username="+Username, "-password="+Password, "-ready-file="+readyFile)
	if err != nil {
		return nil, err
	}
	vcenter := &VCenter{Process: process}
	err = await.Condition(ctx, "the vCenter simulator to serve", func(context.Context) (bool, error) {
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

const (
	managerPackage = "./cmd/manager"
	vcsimPackage   = "./test/harness/vcsim"
)

// OverlayVariable is an environment variable for an overlay file, which replaces source files of the manager in its build. See `go help build`,
// -overlay.
const OverlayVariable = "VMGROUP_MANAGER_OVERLAY"

// BuildManager compiles the operator and returns the path of its binary.
func BuildManager(ctx context.Context, out io.Writer) (string, error) {
	race := os.Getenv(progress.RaceVariable) != ""
	name := "manager"
	if race {
		name += "-race"
	}
	if overlay := os.Getenv(OverlayVariable); overlay != "" {
		return build(ctx, name+"-overlay", managerPackage, race, out, "-overlay="+overlay)
	}
	return build(ctx, name, managerPackage, race, out)
}

// manager returns the stack's own copy of the operator's binary, so that another build does not change the program of a restart.
func (s *Stack) manager(ctx context.Context) (string, error) {
	if s.Program != "" {
		return s.Program, nil
	}
	s.copying.Lock()
	defer s.copying.Unlock()
	binary := filepath.Join(s.Dir, "manager")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	built, err := BuildManager(ctx, s.opts.Out)
	if err != nil {
		return "", err
	}
	return binary, copyProgram(built, binary)
}

// copyProgram copies a program for a later start. No other process is forked during the copy: it would keep the file
// open for writing for a moment, and the kernel refuses to start such a program ("text file busy").
func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(to, content, 0o700)
}

// CRDsOfProgram runs Program to install the CRDs of a hub, as Helm's Job does before it replaces Pods.
func (s *Stack) CRDsOfProgram(ctx context.Context, hub *Cluster) error {
	binary, err := s.manager(ctx)
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, binary, "crds", "apply", "--kubeconfig="+hub.KubeconfigFile).CombinedOutput()
	if err != nil {
		return fmt.Errorf("manager crds apply: %w\n%s", err, out)
	}
	return nil
}

// StartManager starts the operator on a hub.
func (s *Stack) StartManager(ctx context.Context, name string, hub *Cluster, args ...string) (*Process, error) {
	binary, err := s.manager(ctx)
	if err != nil {
		return nil, err
	}
	webhooks, err := s.Admission.webhookArgs(name, nil)
	if err != nil {
		return nil, err
	}
	process, err := start(s.Dir, name, binary, slices.Concat([]string{
		"--kubeconfig=" + hub.KubeconfigFile, "--namespace=" + Namespace,
		"--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, webhooks, args)...)
	if err != nil {
		return nil, fmt.Errorf("hub %s: %w", hub.Name, err)
	}
	return process, nil
}
