//go:build unix && e2e

package localcluster

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// traces are the mounts of this machine, and the files in the folders of container runtimes.
func traces(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	found := strings.Split(string(content), "\n")
	for _, pattern := range []string{"/run/netns/*", "/run/containerd*", "/opt/*", "/var/lib/*", "/var/log/*", "/usr/libexec/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, files...)
	}
	return found
}

// footprint is the trace of one node on this machine, while others start and stop.
type footprint struct {
	processes map[int]string // the number, and the start time
	cgroup    string
	link      string
}

// made finds the processes of the node: those that share the namespace of its first process, and those in its
// control groups.
func made(t *testing.T, pid int, cgroup, link string) footprint {
	t.Helper()
	f := footprint{processes: map[int]string{}, cgroup: cgroup, link: link}
	space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range numbers(t) {
		if in, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", other)); err == nil && in == space {
			f.processes[other] = started(other)
		}
	}
	roots, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		groups, err := groupsIn(filepath.Join(root, cgroup))
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range groups {
			for _, pid := range pidsIn(group) {
				f.processes[pid] = started(pid)
			}
		}
	}
	return f
}

// numbers are those of all processes.
func numbers(t *testing.T) []int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var result []int
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			result = append(result, pid)
		}
	}
	return result
}

// started is the start time of a process, in ticks since the machine's start; empty if it does not exist. Together
// with the number it is unique.
func started(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
	return fields[20]
}

// stillThere lists the remains of a node, and new objects on this machine.
func (f footprint) stillThere(t *testing.T, before []string) []string {
	t.Helper()
	var left []string
	for _, trace := range traces(t) {
		if !slices.Contains(before, trace) {
			left = append(left, trace)
		}
	}
	for pid, start := range f.processes {
		if start != "" && started(pid) == start {
			command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			left = append(left, fmt.Sprintf("process %d: %s", pid, strings.ReplaceAll(string(command), "\x00", " ")))
		}
	}
	if _, err := net.InterfaceByName(f.link); err == nil {
		left = append(left, "link "+f.link)
	}
	roots, err := hierarchies()
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range roots {
		if _, err := os.Stat(filepath.Join(root, f.cgroup)); !errors.Is(err, fs.ErrNotExist) {
			left = append(left, "control group "+filepath.Join(root, f.cgroup))
		}
	}
	return left
}

// memory is the private and shared memory of a hub's processes, in MiB.
func memory(t *testing.T, h *Hub) int {
	t.Helper()
	pids := made(t, h.node.space.pid(), h.node.cgroup, "").processes
	for _, p := range []*process{h.apiserver, h.etcd} {
		pids[p.current().pid] = ""
	}
	total := 0
	for pid := range pids {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		for line := range strings.Lines(string(status)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "Pss:" {
				kib, _ := strconv.Atoi(fields[1])
				total += kib
			}
		}
	}
	return total / 1024
}
