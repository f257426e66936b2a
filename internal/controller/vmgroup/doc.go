// Package vmgroup reconciles VmGroups of all member clusters.
//
// The way of a change:
//
//	 1  an informer event of a member, or an observation of vCenter
//	 2  is mapped to {cluster, namespace, name}            (controller.go, groups.go)
//	 3  and de-duplicated by the queue
//	 4  the shard's token is entered, or the item dropped  (sharding.Gate)
//	 5  fetch; a cache older than our own last write waits (writes.go)
//	 6  finalizer, legacy objects                          (controller.go, legacy.go)
//	 7  resolve vCenter, template, placement, grants       (resolve.go)
//	 8  observe, from memory only                          (observe.go)
//	    what policies and quotas refuse is held            (guard.go, policy.Decide, internal/quota)
//	 9  plan.Compute decides                               (internal/plan)
//	10  status, with what is about to be done, is written  (status.go): one patch, none if nothing changed
//	11  the actions are submitted, never waited for        (act.go)
//	12  the task's completion re-enters at 1
//
// Step 10 comes before step 11 because status is the operator's memory: a clone's name and UUID and the
// ordinals that are to be destroyed are stored before vCenter is asked, and so is what was admitted, so that a
// crash in between loses nothing and a stale controller fails with a conflict instead of acting.
//
// A pass over an unchanged group reads memory only: no call to an API server, none to vCenter.
package vmgroup
