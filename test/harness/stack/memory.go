//go:build unix

package stack

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory returns the most resident memory that the process has had, in bytes, as the kernel counts it; false where
// the kernel does not tell.
func (p *Process) PeakMemory() (int64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
