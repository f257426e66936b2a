package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc, which is the same on every Linux that Go supports.
const clockTick = 10 * time.Millisecond

// usage is the resource usage of a process, from /proc on Linux.
type usage struct {
	// CPU time in user and system mode since the start of the process, in steps of clockTick.
	CPU time.Duration
	// RSS is the current memory in bytes, and Peak the highest so far.
	RSS, Peak int64
}

// readUsage returns the usage of a process.
func readUsage(pid int) (usage, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return usage{}, fmt.Errorf("read the CPU time of process %d (this needs Linux): %w", pid, err)
	}
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return usage{}, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	u, err := parseUsage(string(stat), string(status))
	if err != nil {
		return usage{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return u, nil
}

func parseUsage(stat, status string) (usage, error) {
	// The name of the command, in parentheses, can contain blanks. Count fields after it.
	_, after, _ := strings.Cut(stat[max(0, strings.LastIndexByte(stat, ')')):], " ")
	fields := strings.Fields(after)
	const user, system = 14 - 3, 15 - 3 // field numbers from proc(5), which begin at 1, without the two fields before
	if len(fields) <= system {
		return usage{}, fmt.Errorf("/proc stat has %d fields after the name, too few", len(fields))
	}
	var u usage
	for _, i := range []int{user, system} {
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("/proc stat: %w", err)
		}
		u.CPU += time.Duration(ticks) * clockTick
	}
	for key, into := range map[string]*int64{"VmRSS:": &u.RSS, "VmHWM:": &u.Peak} {
		_, value, found := strings.Cut(status, key)
		if !found {
			return usage{}, fmt.Errorf("/proc status has no %s", key)
		}
		words := strings.Fields(value)
		if len(words) < 2 || words[1] != "kB" {
			return usage{}, fmt.Errorf("/proc status: %s is not in kB", key)
		}
		kB, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("/proc status: %w", err)
		}
		*into = kB << 10
	}
	return u, nil
}
