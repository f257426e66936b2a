//go:build unix

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Container is one run of a container of a Pod. After a restart, it still refers to the previous process, and never to another process with
// the same number.
type Container struct {
	// ID is the runtime's name, from the Pod's status after "containerd://".
	ID string
	// PID is the number of the container's first process on this machine.
	PID int

	process *os.Process
}

// ContainerPID returns the number of the first process of a Pod's running container on this machine.
func (h *Hub) ContainerPID(ctx context.Context, namespace, pod, container string) (int, error) {
	c, err := h.Container(ctx, namespace, pod, container)
	if err != nil {
		return 0, err
	}
	return c.PID, nil
}

// Container returns the running container of a Pod.
func (h *Hub) Container(ctx context.Context, namespace, pod, container string) (*Container, error) {
	var object corev1.Pod
	if err := h.read(ctx, "/api/v1/namespaces/"+namespace+"/pods/"+pod, &object); err != nil {
		return nil, fmt.Errorf("find container %s of Pod %s/%s: %w", container, namespace, pod, err)
	}
	for _, status := range object.Status.ContainerStatuses {
		if status.Name != container {
			continue
		}
		if status.State.Running == nil {
			return nil, fmt.Errorf("container %s of Pod %s/%s does not run: %v", container, namespace, pod, status.State)
		}
		_, id, _ := strings.Cut(status.ContainerID, "://")
		c, err := h.node.container(id)
		if err != nil {
			return nil, fmt.Errorf("find container %s of Pod %s/%s: %w", container, namespace, pod, err)
		}
		return c, nil
	}
	return nil, fmt.Errorf("no container %s in Pod %s/%s, or the kubelet has not reported it", container, namespace, pod)
}

// container finds the first process of a container by its control group, which has the container's name.
func (n *node) container(id string) (*Container, error) {
	roots, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		groups, err := groupsIn(filepath.Join(root, n.cgroup))
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			if filepath.Base(group) != id {
				continue
			}
			if pid := firstPID(pidsIn(group)); pid > 0 {
				process, err := os.FindProcess(pid)
				return &Container{ID: id, PID: pid, process: process}, err
			}
		}
	}
	return nil, fmt.Errorf("no process is in a control group named %s", id)
}

// firstPID returns the process that is the first of its own namespace, or 0.
func firstPID(pids []int) int {
	for _, pid := range pids {
		status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
		if err != nil {
			continue // ended in the meantime
		}
		for line := range strings.Lines(string(status)) {
			if numbers, found := strings.CutPrefix(line, "NSpid:"); found {
				if fields := strings.Fields(numbers); len(fields) > 0 && fields[len(fields)-1] == "1" {
					return pid
				}
			}
		}
	}
	return 0
}

// Kill kills the container's first process, and so all its processes. No component of the cluster is notified.
func (c *Container) Kill() error { return c.signal(syscall.SIGKILL) }

// Freeze stops the first process, and returns when all its threads have stopped. Its clocks continue.
func (c *Container) Freeze() error {
	if err := c.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	patience, ticker := time.NewTimer(stopPatience), time.NewTicker(time.Millisecond)
	defer patience.Stop()
	defer ticker.Stop()
	for {
		stopped, err := c.stopped()
		if stopped || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-patience.C:
			return fmt.Errorf("container %s was not stopped %s after the signal", c.ID, stopPatience)
		}
	}
}

// stopped reports whether every thread of the first process is stopped.
func (c *Container) stopped() (bool, error) {
	files, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(c.PID), "task", "*", "stat"))
	if err == nil && len(files) == 0 {
		err = os.ErrProcessDone
	}
	if err != nil {
		return false, fmt.Errorf("check container %s: %w", c.ID, err)
	}
	for _, file := range files {
		if s, err := state(file); err == nil && s != "T" {
			return false, nil
		}
	}
	return true, nil
}

// Thaw resumes a frozen container.
func (c *Container) Thaw() error { return c.signal(syscall.SIGCONT) }

func (c *Container) signal(s syscall.Signal) error {
	if err := c.process.Signal(s); err != nil {
		return fmt.Errorf("send %s to container %s: %w", s, c.ID, err)
	}
	return nil
}

// Alive reports whether the first process exists, frozen or not. A process that ended, but whose parent has not read its exit status, is
// not alive.
func (c *Container) Alive() bool {
	if err := c.process.Signal(syscall.Signal(0)); errors.Is(err, os.ErrProcessDone) {
		return false
	}
	s, err := state(filepath.Join("/proc", strconv.Itoa(c.PID), "stat"))
	return err == nil && s != "Z" && s != "X"
}

// state returns the state letter of a process or thread from its file stat.
func state(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	// The name before it is in parentheses and can have any character.
	fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
	if len(fields) == 0 {
		return "", fmt.Errorf("%s has no state: %q", file, content)
	}
	return fields[0], nil
}
