package policy

// What the schema of VmGroup allows one group at most.
const (
	mostReplicas = 500
	mostCPU      = 768
	mostMemory   = 24576
)

// Largest returns what one group of a requester can take at most: with as many VMs, each as large, as the enforced policies and the default limits
// allow, and the schema where they set no maximum.
func (s *Set) Largest(r Requester) Usage {
	replicas, cpu, memory := int64(mostReplicas), int64(mostCPU), int64(mostMemory)
	for _, p := range s.rulesFor(r) {
		if p.Enforced() {
			replicas, cpu, memory = p.bounds.Replicas.atMost(replicas), p.bounds.CPU.atMost(cpu), p.bounds.Memory.atMost(memory)
		}
	}
	return Usage{Groups: 1, VMs: replicas, CPU: replicas * cpu, Memory: replicas * memory}
}

// atMost is n, or the end of the range if that is lower. Nothing is below zero.
func (r Range) atMost(n int64) int64 {
	if r.exceeded(n) {
		return max(*r.Max, 0)
	}
	return n
}
