package vcenter

func (r *Reconciler) leading() bool { return r.Leader == nil || r.Leader.Leading() }

// LeadershipChanged tells the Reconciler that Leader answers differently now. It does not block; call it after
// SetupWithManager. The controller then looks at every VCenter, so that a new leader writes what is due.
func (r *Reconciler) LeadershipChanged() { r.everyVCenter.Ask() }
