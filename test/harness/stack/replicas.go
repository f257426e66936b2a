//go:build unix

package stack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// Replica is one of several managers on one hub. Faults affect it alone: it is a separate process, and its requests to the hub pass its own
// proxy. Its methods are not safe for concurrent use.
type Replica struct {
	// Name of the replica. It is its POD_NAME and the host of its sessions.
	Name string
	// Process is the current one. Restart replaces it.
	*Process
	// APIProxy is in front of the hub for this replica alone.
	APIProxy *localcluster.APIProxy

	stack   *Stack
	args    []string
	probes  port
	metrics port
}

// AddReplica starts another manager on the hub, with Options.ManagerArgs and args. Stop of the Stack ends it.
func (s *Stack) AddReplica(ctx context.Context, name string, args ...string) (_ *Replica, err error) {
	r := &Replica{Name: name, stack: s}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if r.APIProxy, err = s.Hub.NewProxy(); err != nil {
		return nil, fmt.Errorf("replica %s: %w", name, err)
	}
	content, err := r.APIProxy.Kubeconfig()
	if err != nil {
		return nil, fmt.Errorf("replica %s: %w", name, err)
	}
	kubeconfig := filepath.Join(s.Dir, name+".kubeconfig")
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		return nil, fmt.Errorf("replica %s: %w", name, err)
	}
	if r.probes, err = reservePort(); err != nil {
		return nil, err
	}
	if r.metrics, err = reservePort(); err != nil {
		return nil, err
	}
	webhooks, err := s.Admission.webhookArgs(name, r.Ready)
	if err != nil {
		return nil, err
	}
	r.args = slices.Concat([]string{
		"--kubeconfig=" + kubeconfig, "--namespace=" + Namespace,
		"--metrics-bind-address=" + r.metrics.address, "--health-probe-bind-address=" + r.probes.address,
	}, webhooks, s.opts.ManagerArgs, args)
	if err := r.Restart(ctx); err != nil {
		return nil, err
	}
	s.Replicas = append(s.Replicas, r)
	return r, nil
}

// Restart starts the replica again after it has ended. args extend its flags until the next restart.
func (r *Replica) Restart(ctx context.Context, args ...string) error {
	if r.Process != nil && r.Alive() {
		return fmt.Errorf("replica %s already runs with pid %d", r.Name, r.PID())
	}
	binary, err := r.stack.manager(ctx)
	if err != nil {
		return err
	}
	process, err := startIn(r.stack.Dir, r.Name, binary, []string{"POD_NAME=" + r.Name, "POD_NAMESPACE=" + Namespace}, slices.Concat(r.args, args)...)
	if err != nil {
		return fmt.Errorf("replica %s: %w", r.Name, err)
	}
	r.Process = process
	return nil
}

// Pause stops the process with SIGSTOP, as a hypervisor can. Its clocks continue.
func (r *Replica) Pause() error { return r.signal(syscall.SIGSTOP) }

// Continue resumes a paused process.
func (r *Replica) Continue() error { return r.signal(syscall.SIGCONT) }

// Terminate sends SIGTERM and does not wait. Done reports the end. Stop does both.
func (r *Replica) Terminate() error {
	r.told = true
	return r.signal(syscall.SIGTERM)
}

func (r *Replica) signal(signal os.Signal) error {
	if err := r.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("send %s to replica %s: %w", signal, r.Name, err)
	}
	return nil
}

// Ready reports whether /readyz of the replica succeeds. An unresponsive replica is not ready.
func (r *Replica) Ready(ctx context.Context) bool {
	body, err := r.get(ctx, r.probes, "/readyz")
	return err == nil && body != ""
}

// MetricsAddress is where the replica serves its metrics.
func (r *Replica) MetricsAddress() string { return r.metrics.address }

// Metrics returns the replica's metrics in Prometheus' text format.
func (r *Replica) Metrics(ctx context.Context) (string, error) {
	return r.get(ctx, r.metrics, "/metrics")
}

func (r *Replica) get(ctx context.Context, p port, path string) (string, error) {
	// A paused process accepts connections and does not answer.
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of replica %s: %s", path, r.Name, response.Status)
	}
	return string(body), err
}

// Remove ends the replica with SIGTERM, removes it from the Stack and closes its proxy.
func (r *Replica) Remove() error {
	err := r.Stop()
	r.stack.Replicas = slices.DeleteFunc(slices.Clone(r.stack.Replicas), func(other *Replica) bool { return other == r })
	r.close()
	return err
}

// end kills the replica at the end of the Stack. No handover is needed then, and a paused process cannot do one.
func (r *Replica) end() {
	if r.Process != nil {
		r.Kill()
	}
	r.close()
}

func (r *Replica) close() {
	if r.APIProxy != nil {
		r.APIProxy.Close()
	}
	r.probes.free()
	r.metrics.free()
}

func (s *Stack) startReplicas(ctx context.Context) error {
	for i := range s.opts.Replicas {
		if _, err := s.AddReplica(ctx, fmt.Sprintf("manager-%d", i)); err != nil {
			return err
		}
	}
	return nil
}

// LastWords returns the last lines of each manager's log.
func (s *Stack) LastWords(lines int) string {
	out := ""
	if s.Manager != nil {
		out = s.Manager.Tail(lines)
	}
	for _, r := range s.Replicas {
		out += fmt.Sprintf("--- %s\n%s\n", r.Name, r.Tail(lines))
	}
	return out
}

func (s *Stack) endReplicas() {
	for _, r := range s.Replicas {
		r.end()
	}
	s.Replicas = nil
}
