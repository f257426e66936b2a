package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc, which is the same on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// usage is what a process has used. It is read from /proc, which only Linux has.
type usage struct {
	// CPU in user and system mode since the process started, in steps of clockTick.
	CPU time.Duration
	// RSS now and at most so far, in bytes.
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
	// The name of the command, in parentheses, may hold blanks: fields are counted after it.
	_, after, _ := strings.Cut(stat[max(0, strings.LastIndexByte(stat, ')')):], " ")
	fields := strings.Fields(after)
	const user, system = 14 - 3, 15 - 3 // of proc(5), which counts from 1 and has two fields before
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
