package policy

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Range limits a number; a nil end means no limit.
type Range struct {
	Min, Max *int64
}

// Bounds are the ranges of one policy.
type Bounds struct {
	// CPU in virtual CPUs per VM.
	CPU Range
	// Memory in whole GiB per VM, the unit of spec.memory. A minimum is rounded up, a maximum down.
	Memory Range
	// Disk in whole GiB per root disk, as Memory.
	Disk Range
	// Replicas of the group.
	Replicas Range
}

func (r Range) exceeded(n int64) bool { return r.Max != nil && n > *r.Max }
func (r Range) missed(n int64) bool   { return r.Min != nil && n < *r.Min }

// check returns the error of a range, or "".
func (r Range) check(field, unit string) string {
	if r.Min != nil && r.Max != nil && *r.Min > *r.Max {
		return fmt.Sprintf("%s allows no value: the minimum %d%s is above the maximum %d%s", field, *r.Min, unit, *r.Max, unit)
	}
	return ""
}

func countRange(r *v1alpha1.CountRange) Range {
	if r == nil {
		return Range{}
	}
	return Range{Min: widen(r.Min), Max: widen(r.Max)}
}

// amountRange also returns the error of an end of the range of a field, or "".
func amountRange(field string, r *v1alpha1.AmountRange) (out Range, problem string) {
	if r == nil {
		return out, ""
	}
	for _, end := range []struct {
		name   string
		amount *v1alpha1.Amount
		gib    func(v1alpha1.Amount) (int64, string)
		to     **int64
	}{{"min", r.Min, ceilGiB, &out.Min}, {"max", r.Max, floorGiB, &out.Max}} {
		if end.amount == nil {
			continue
		}
		n, problem := end.gib(*end.amount)
		if problem != "" {
			return Range{}, "limits." + field + "." + end.name + ": " + problem
		}
		*end.to = &n
	}
	return out, ""
}

func widen(n *int32) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// The maximums of one group in the schema of VmGroup.
const (
	mostReplicas = 500
	mostCPU      = 768
	mostMemory   = 24576
	mostDisk     = 63488
)

// Largest returns the maximum usage of one group of a requester: the most VMs, each of the largest size, that the enforced policies and the default
// limits allow. If they set no maximum, the one of the schema applies.
func (s *Set) Largest(r Requester) Usage {
	replicas, cpu, memory, disk := int64(mostReplicas), int64(mostCPU), int64(mostMemory), int64(mostDisk)
	for _, p := range s.rulesFor(r) {
		if p.Enforced() {
			replicas, cpu, memory = p.bounds.Replicas.atMost(replicas), p.bounds.CPU.atMost(cpu), p.bounds.Memory.atMost(memory)
			disk = p.bounds.Disk.atMost(disk)
		}
	}
	return Usage{Groups: 1, VMs: replicas, CPU: replicas * cpu, Memory: replicas * memory, Storage: replicas * disk}
}

// atMost returns n, or the maximum of the range if that is lower. The result is at least 0.
func (r Range) atMost(n int64) int64 {
	if r.exceeded(n) {
		return max(*r.Max, 0)
	}
	return n
}
