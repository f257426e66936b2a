package plan

// rollout counts and names the VMs of another revision. Edits reach new VMs only: bringing older ones up to
// date (spec.updateStrategy) is a later piece of work, whose actions belong into this pass, after replicas and
// repair have made the group whole, because an update takes VMs away and must not do so while some are missing.
func (p *planner) rollout() {
	for _, m := range p.table() {
		switch {
		case m.doomed || !m.exists():
		case m.status.Revision == p.in.UpdateRevision:
			p.plan.Updated++
		default:
			p.plan.Outdated = append(p.plan.Outdated, m.status.Name)
		}
	}
}
