package vsphere_test

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestCanHotAdd(t *testing.T) {
	t.Parallel()
	all := vsphere.HotAdd{CPU: true, Memory: true, CoresPerSocket: 2, MemoryLimitMiB: 4096, MemoryStepMiB: 128}
	silent := vsphere.HotAdd{CPU: true, Memory: true}
	for _, tc := range []struct {
		name       string
		has        vsphere.HotAdd
		cpu, cores int32
		memory     int64
		why        string
	}{
		{"nothing changes", vsphere.HotAdd{}, 2, 0, 1024, ""},
		{"both grow", all, 4, 0, 1024 + 128, ""},
		{"up to the limit", all, 2, 0, 4096, ""},
		{"fewer CPUs", all, 1, 0, 1024, "from 2 to 1 CPUs"},
		{"less memory", all, 2, 0, 512, "from 1024 to 512 MiB"},
		{"more CPUs and less memory", all, 4, 0, 512, "from 1024 to 512 MiB"},
		{"no hot add of CPUs", vsphere.HotAdd{Memory: true}, 4, 0, 1024, "CPU hot add is not enabled"},
		{"no hot add of memory", vsphere.HotAdd{CPU: true}, 2, 0, 2048, "memory hot add is not enabled"},
		{"half a socket", all, 3, 0, 1024, "2 cores per socket"},
		{"the sockets that it has", all, 4, 2, 1024, ""},
		{"other sockets", all, 2, 1, 1024, "from 2 to 1 cores per socket"},
		{"over the limit", all, 2, 0, 4096 + 128, "can grow to 4096 MiB"},
		{"half a step", all, 2, 0, 1024 + 64, "by multiples of 128 MiB"},
		{"without sockets, limit and step", silent, 3, 0, 1 << 20, ""},
	} {
		can, why := vsphere.CanHotAdd(vsphere.VM{CPU: 2, MemoryMiB: 1024, HotAdd: tc.has}, tc.cpu, tc.cores, tc.memory)
		if can != (tc.why == "") || !strings.Contains(why, tc.why) || can != (why == "") {
			t.Errorf("%s: got %v, %q; want %q", tc.name, can, why, tc.why)
		}
	}
}

func TestFittingCores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cpu, cores, want int32 }{{4, 4, 4}, {8, 4, 4}, {6, 4, 3}, {9, 4, 3}, {5, 4, 1}, {2, 4, 2}, {3, 4, 3}, {4, 1, 1}, {4, 0, 0}} {
		if got := vsphere.FittingCores(c.cpu, c.cores); got != c.want {
			t.Errorf("%d CPUs with %d cores per socket: %d, want %d", c.cpu, c.cores, got, c.want)
		}
	}
}
