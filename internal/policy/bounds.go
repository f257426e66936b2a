package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const bytesPerGiB = 1 << 30

// Range bounds a number; a nil end is open.
type Range struct {
	Min, Max *int64
}

// Bounds are the ranges of one policy.
type Bounds struct {
	// CPU in virtual CPUs per VM.
	CPU Range
	// Memory in whole GiB per VM, since spec.memory counts these: a minimum is rounded up, a maximum down.
	Memory Range
	// Replicas of the group.
	Replicas Range
}

func (r Range) exceeded(n int64) bool { return r.Max != nil && n > *r.Max }
func (r Range) missed(n int64) bool   { return r.Min != nil && n < *r.Min }

// check returns what is wrong with a range, or an empty string.
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

func memoryRange(r *v1alpha1.MemoryRange) Range {
	var out Range
	if r == nil {
		return out
	}
	if r.Min != nil {
		out.Min = new(ceilGiB(*r.Min))
	}
	if r.Max != nil {
		out.Max = new(floorGiB(*r.Max))
	}
	return out
}

func widen(n *int32) *int64 {
	if n == nil {
		return nil
	}
	return new(int64(*n))
}

// ceilGiB is the least number of whole GiB that is not below q.
func ceilGiB(q resource.Quantity) int64 {
	n := q.Value() / bytesPerGiB
	if q.CmpInt64(n*bytesPerGiB) > 0 {
		n++
	}
	return n
}

// floorGiB is the greatest number of whole GiB that is not above q.
func floorGiB(q resource.Quantity) int64 {
	n := q.Value() / bytesPerGiB
	if q.CmpInt64(n*bytesPerGiB) < 0 {
		n--
	}
	return n
}
