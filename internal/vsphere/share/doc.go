// Package share divides the task limits of a vCenter between the replicas of the operator.
//
// Each replica has its own budget for each vCenter. It publishes what it could use and what it can be using (claims). One
// replica, the leader, reads all claims and publishes how much each can use (grants). Every replica sets the caps of its budgets
// to its grants. The data travels with the Lease of the session, so it arrives late, and some versions never arrive. This
// package has no I/O and no goroutine except Run's caller.
//
// # Never too much
//
// The leader raises a replica only with slots that no replica can be using. A replica can be using the largest of its own claim
// and every grant that was published since the one that its claim answers. A lowered grant counts at its old value until the
// replica has answered, and after that for as long as tasks hold it.
//
// A new leader does not know the last grants of its predecessor. So it raises no replica until each earlier replica has answered
// it: a replica that answers one leader takes no more grants from another. The leader always waits a moment (settle) for
// replicas that it does not see yet. For a replica that does not answer, it waits at most the constant patience, because that
// replica falls back earlier (next paragraph). A leader numbers its terms. If it loses and regains the lead, or if a replica
// that followed it has followed another leader, it begins a new term.
//
// A replica that the leader's grants do not mention keeps its slots for a while (keep), and then can use one slot of each
// vCenter. A new replica can use one as well. Only these replicas can exceed a limit, each by one slot, until the leader has
// seen them. A replica that is alone and leads uses everything at once.
//
// # Never too little
//
// Slots go to replicas that can use them: the division is max-min fair over the demand, so others get what one replica does not
// want. Slots left over by the division rotate with time. The host of a template also limits clones. A host's slots are divided
// in the same way, and a replica gets no slots that it could use only on hosts without free slots.
package share
