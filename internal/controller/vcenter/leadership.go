package vcenter

func (r *Reconciler) leading() bool { return r.Leader == nil || r.Leader.Leading() }

// LeadershipChanged reports a changed answer of Leader. It does not block. Call it after SetupWithManager. The
// controller then checks every VCenter, so that a new leader writes pending changes.
func (r *Reconciler) LeadershipChanged() { r.everyVCenter.Ask() }
