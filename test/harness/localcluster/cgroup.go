//go:build unix

package localcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroupMount is the directory of control groups on Linux. It is one hierarchy (version 2), or has a directory for each controller.
const cgroupMount = "/sys/fs/cgroup"

// hierarchies lists the hierarchies in which a control group must be made.
func hierarchies() ([]string, error) {
	if _, err := os.Stat(filepath.Join(cgroupMount, "cgroup.controllers")); err == nil {
		return []string{cgroupMount}, nil
	}
	entries, err := os.ReadDir(cgroupMount)
	if err != nil {
		return nil, fmt.Errorf("find the control groups: %w", err)
	}
	var found []string
	for _, entry := range entries {
		dir := filepath.Join(cgroupMount, entry.Name())
		// Ignore links, for example from cpu to cpu,cpuacct.
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); entry.IsDir() && err == nil {
			found = append(found, dir)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("find the control groups: %w: no hierarchy is mounted below %s", fs.ErrNotExist, cgroupMount)
	}
	return found, nil
}

// makeCgroup makes a control group with that name in every hierarchy.
func makeCgroup(name string) error {
	roots, err := hierarchies()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if err := delegate(root); err != nil {
			return err
		}
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("make a control group for the node: %w", err)
		}
	}
	return nil
}

// delegate lets groups below the root of version 2 use all controllers. Version 1 has no such switch.
func delegate(root string) error {
	available, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil || root != cgroupMount {
		return nil //nolint:nilerr // a hierarchy without the file is of version 1, or has no controller
	}
	for _, controller := range strings.Fields(string(available)) {
		switchOn := filepath.Join(root, "cgroup.subtree_control")
		if err := os.WriteFile(switchOn, []byte("+"+controller), 0o644); err != nil {
			return fmt.Errorf("give the node the controller %s of control groups: %w", controller, err)
		}
	}
	return nil
}

// removeCgroup kills the processes in the control groups of that name and removes the groups. Missing groups are no error.
func removeCgroup(name string) error {
	roots, err := hierarchies()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not Linux, or no hierarchy is mounted
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, root := range roots {
		errs = append(errs, removeTree(filepath.Join(root, name)))
	}
	return errors.Join(errs...)
}

// removeTree retries for a while, because a group is busy until the kernel has released its last process.
func removeTree(dir string) error {
	deadline := time.Now().Add(stopPatience)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := tryRemoveTree(dir)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-ticker.C
	}
}

func tryRemoveTree(dir string) error {
	groups, err := groupsIn(dir)
	if err != nil {
		return err
	}
	slices.Reverse(groups) // a group must be removed before its parent
	for _, group := range groups {
		for _, pid := range pidsIn(group) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := os.Remove(group); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a control group: %w", err)
		}
	}
	return nil
}

// groupsIn returns dir and all groups below it. Parents precede their children. A missing dir is no error.
func groupsIn(dir string) ([]string, error) {
	var groups []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			groups = append(groups, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list control groups: %w", err)
	}
	return groups, nil
}

// pidsIn returns the processes of one group, with their numbers on this machine.
func pidsIn(group string) []int {
	content, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil {
		return nil // removed in the meantime
	}
	var pids []int
	for _, line := range strings.Fields(string(content)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
