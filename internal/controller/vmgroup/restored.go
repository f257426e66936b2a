package vmgroup

// MemberRestored takes the news that a member's storage came back from a backup. The versions of its groups count on from the backup's, so
// that those of our own last writes say nothing any more: compared with them, all that the member has would look old for a long time.
func (r *Reconciler) MemberRestored(member string) {
	for uid, e := range r.Groups.all() {
		if string(e.request.ClusterName) == member {
			r.memory.change(uid, func(m *remembered) { m.resourceVersion = "" })
			r.vanished.unclaim(uid)
		}
	}
}
