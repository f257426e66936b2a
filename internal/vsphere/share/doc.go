// Package share divides the task limits of a vCenter between the replicas of the operator.
//
// Each replica has a budget of its own for each vCenter. It publishes what it could use and what it may be using
// (claims). One replica, the leader, reads what all publish, and publishes how much each may use (grants). Everybody
// sets the caps of its budgets to that. What is published travels with the Lease of the session, so everything here is late, and
// some of it is never seen. There is no I/O in this package and no goroutine but Run's caller.
//
// # Never too much
//
// The leader grants a raise only out of what nobody may be using. What a replica may be using is the largest of: its own
// word, and every grant that was published since the one that its word answers to. A grant that was lowered counts at
// its old value until the replica has answered, and afterwards for as long as tasks hold it.
//
// A new leader does not know what the one before granted last. So it raises nobody until each replica that was there has
// answered to it: a replica that answers to one leader takes no more grants of another. It waits a moment in any case
// (settle), for those that it does not see yet, and for one that does not answer no longer than patience, since that one
// falls back before (next paragraph). A leader numbers its terms: when it loses the lead and wins it back, or when a
// replica that followed it has followed somebody else, it starts anew.
//
// A replica that the leader's grants do not mention keeps what it has for a while (keep), and then may use one slot of
// each vCenter. So does one that has just come. That is the only way to exceed a limit: by one for each such replica,
// until the leader has seen it. A replica that is alone and leads uses everything at once.
//
// # Never too little
//
// Slots go to who can use them: max-min fair over the demand, so what one does not want another gets. What is left over
// by the division goes round with time. Clones are limited by the host of their template as well; a host is divided in
// the same way, and who cannot get more of the hosts is not given slots that it could use only there.
package share
