package main

import (
	"testing"
	"time"
)

const (
	someStat = "1234 (a (strange) name) S 1 1234 1234 0 -1 4194560 5000 0 3 0 1500 250 0 0 20 0 12 0 100 2000000 5000 18446744073709551615"
	someInfo = "Name:\tmanager\nVmPeak:\t 1261708 kB\nVmHWM:\t   91236 kB\nVmRSS:\t   58500 kB\nThreads:\t12\n"
)

func TestUsageOfAProcess(t *testing.T) {
	got, err := parseUsage(someStat, someInfo)
	want := usage{CPU: 17500 * time.Millisecond, RSS: 58500 << 10, Peak: 91236 << 10}
	if err != nil || got != want {
		t.Errorf("usage %+v, error %v, want %+v", got, err, want)
	}
	for name, c := range map[string][2]string{
		"short stat":   {"1234 (manager) S 1 2", someInfo},
		"empty stat":   {"", someInfo},
		"no peak":      {someStat, "VmRSS:\t 5 kB\n"},
		"another unit": {someStat, "VmRSS:\t 5 MB\nVmHWM:\t 5 kB\n"},
	} {
		if u, err := parseUsage(c[0], c[1]); err == nil {
			t.Errorf("%s: read as %+v", name, u)
		}
	}
}
