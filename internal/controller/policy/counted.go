package policy

import "github.com/codeconnect/vmgroup-operator/internal/controller/policy/policymetrics"

// keep stores the last counts.
func (r *Reconciler) keep(counts map[string]tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = counts
}

// Counted implements policymetrics.Source.
func (r *Reconciler) Counted() []policymetrics.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]policymetrics.Policy, 0, len(r.last))
	for name, is := range r.last {
		all = append(all, policymetrics.Policy{Name: name, Matched: int(is.matched), Violations: int(is.violations)})
	}
	return all
}
