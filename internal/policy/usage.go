package policy

import (
	"math"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Usage is the part of a quota that groups use. Sums saturate, so that a total that is too large never overflows to a small number.
type Usage struct {
	// Groups is the number of VmGroups. VMs is the number of their replicas.
	Groups, VMs int64
	// CPU is spec.cpu times spec.replicas, in virtual CPUs. Memory is spec.memory times spec.replicas, in GiB. Storage is the sum of the sizes in
	// spec.disks times spec.replicas, in GiB.
	CPU, Memory, Storage int64
}

// UsageOf returns the usage of one group with this spec. The power state makes no difference: users can power VMs on at any time.
func UsageOf(spec v1alpha1.VmGroupSpec) Usage {
	n := max(int64(replicasOf(&spec)), 0)
	return Usage{
		Groups: 1, VMs: n,
		CPU:     n * max(int64(spec.CPU), 0),
		Memory:  n * max(int64(spec.Memory), 0),
		Storage: n * storageOf(&spec),
	}
}

// storageOf returns the sum of the stated sizes of the disks of one VM, in GiB.
func storageOf(spec *v1alpha1.VmGroupSpec) int64 {
	shape := spec.Shape()
	sum := max(int64(shape.RootDiskGiB()), 0)
	for _, d := range shape.DataDisks() {
		sum += max(int64(d.SizeGiB), 0)
	}
	return sum
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Groups: add(u.Groups, v.Groups), VMs: add(u.VMs, v.VMs), CPU: add(u.CPU, v.CPU), Memory: add(u.Memory, v.Memory), Storage: add(u.Storage, v.Storage),
	}
}

// Minus returns u without v.
func (u Usage) Minus(v Usage) Usage {
	return Usage{Groups: u.Groups - v.Groups, VMs: u.VMs - v.VMs, CPU: u.CPU - v.CPU, Memory: u.Memory - v.Memory, Storage: u.Storage - v.Storage}
}

// Max returns the greater of both in each dimension.
func (u Usage) Max(v Usage) Usage {
	return Usage{
		Groups: max(u.Groups, v.Groups), VMs: max(u.VMs, v.VMs), CPU: max(u.CPU, v.CPU), Memory: max(u.Memory, v.Memory), Storage: max(u.Storage, v.Storage),
	}
}

// Min returns the lesser of both in each dimension.
func (u Usage) Min(v Usage) Usage {
	return Usage{
		Groups: min(u.Groups, v.Groups), VMs: min(u.VMs, v.VMs), CPU: min(u.CPU, v.CPU), Memory: min(u.Memory, v.Memory), Storage: min(u.Storage, v.Storage),
	}
}

// Covers reports whether v is at most u in every dimension.
func (u Usage) Covers(v Usage) bool { return u.Max(v) == u }

// add returns a+b, or the nearest possible number.
func add(a, b int64) int64 {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	default:
		return sum
	}
}
