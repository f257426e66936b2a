package plan

// hold keeps VMs of a group that is held at fewer than it asks for. It may have more than was admitted: it was scaled down and up
// again while it was paused or vCenter was away. What is lost of them comes back as far as it was admitted.
func (p *planner) hold() {
	if !p.spec.keep {
		p.spec.desired = max(p.spec.desired, min(p.population()-p.roll.surge, p.in.MayStay))
	}
}
