package plan

// hold keeps VMs of a group that is held at fewer VMs than it asks for. The group can have more VMs than admitted, if it was scaled down and up again while it was paused or
// vCenter was unreachable. Lost VMs return only up to the admitted number.
func (p *planner) hold() {
	if !p.spec.keep {
		p.spec.desired = max(p.spec.desired, min(p.population()-p.roll.surge, p.in.MayStay))
	}
}
