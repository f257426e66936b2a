// Package vmgroup reconciles VmGroups of all member clusters.
//
// The path of a change:
//
//	 1  an informer event of a member, or an observation of vCenter
//	 2  is mapped to {cluster, namespace, name}            (internal/fleet/feed, controller.go)
//	 3  waits for a place of its member and its vCenter    (internal/fairqueue, queue.go)
//	 4  the shard's token is entered, or the item dropped  (sharding.Gate)
//	 5  fetch; a cache older than our own last write waits (memory.go)
//	 6  the known state is read from memory                (internal/observe)
//	 7  group.Decide returns the next step                 (internal/group)
//	 8  its effect carries it out, and again from 7        (effect, pass.go)
//	 9  status, with the intents, is written               (effect/pass.go): one patch, none if nothing changed
//	10  the actions are submitted, never waited for        (effect/act.go)
//	11  the task's completion re-enters at 1
//
// Step 9 comes before step 10 because status is the operator's memory. A clone's name and UUID, the ordinals
// to destroy, and the admitted spec are stored before any request to vCenter. So a crash in between loses
// nothing, and a stale controller fails with a conflict instead of acting.
//
// A pass over an unchanged group reads memory only: no call to an API server, none to vCenter.
package vmgroup
