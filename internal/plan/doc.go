// Package plan decides what to do for one VmGroup. It is pure: the same Input gives the same Plan, there is no
// clock, client, logger or randomness in it, and nothing depends on the order of a map or of the VMs.
//
// Compute runs named passes in a fixed order:
//
//	classify   each observed VM is ours, a copy, or foreign; each ordinal gets one VMStatus
//	adoption   VMs that carry our stamp and were not recorded yet are recorded
//	list       the VMs that spec.scaleDown.deleteFirst names, as they were when they were first named
//	begin      an edit begins an update; status records which VMs it concerns
//	failures   updated VMs that did not become ready in time: they stop the update
//	aim        whether the update goes on, and how many VMs above what is wanted it needs; once more when it is known who is ready
//	readiness  the state of each VM as status shows it
//	deletion   what has to go although nothing was scaled: tombstones, status.deleting, the whole group
//	hold       VMs that a held group may keep although fewer were admitted
//	repair     VMs lost behind the operator's back: replaced, or held back (repair.mode, maxUnhealthy)
//	replicas   too few: create at the lowest free ordinals; too many: choose who leaves
//	update     VMs that the update concerns are changed in place, stopped to be changed, or chosen to leave
//	removal    VMs that have to go are marked, powered off and destroyed, or released
//	power      first starts, spec.powerState, and VMs powered wrongly behind the operator's back
//	conclude   VMs of another revision are counted and named, and an update that has ended is emptied
//
// The result is an ordered list of Actions, Blockers that explain what is not done, and the table of VMs
// from which status is derived. Compute returns no error: bad input is a Blocker. How many of the actions may
// run now is decided by Plan.Limit, which knows what each action costs.
//
// Rules that hold whatever the input, and that the property tests check:
//
//   - an incomplete observation yields no action at all;
//   - a suspect VM (known, missing, not confirmed gone) is neither replaced nor counted as deleted;
//   - a VM that is not ours is in no action;
//   - no clone asks for an instance UUID that an observed VM has;
//   - a VM with a tombstone, or whose ordinal is in Doomed, is never powered on and never counted;
//   - nothing but an edit begins an update, and it touches no VM but of the revisions that it began with;
//   - an update takes no VM away that is available while more are missing than may be, whatever the reason, and adds none above what it may;
//   - no VM is stopped to be changed where the account is known to lack what the change needs;
//   - what a quota does not let in is not cloned for an update, whether it goes on or rests;
//   - no ordinal has two operations at a time (only what follows may overtake a guest shutdown that did not end in time);
//   - a VM that leaves is marked before its guest is asked to shut down, and no guest is asked whose VM shall run;
//   - a guest that can be asked is asked before its VM is powered off, and has the time that spec.shutdown gives it;
//   - shuffling the input changes nothing.
package plan
