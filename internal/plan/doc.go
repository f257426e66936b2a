// Package plan decides the next actions for one VmGroup. It is pure: the same Input gives the same Plan. It has no clock, client, logger or randomness, and nothing depends on
// the order of a map or of the VMs.
//
// Compute runs named passes in a fixed order:
//
//	classify   each observed VM is ours, a copy, or foreign; each ordinal gets one VMStatus
//	adoption   VMs that carry our stamp and are not recorded yet are recorded
//	list       records the VMs that spec.scaleDown.deleteFirst names, at their first mention
//	begin      an edit begins an update; status records which VMs it concerns
//	failures   updated VMs that did not become ready in time: they stop the update
//	aim        whether the update runs, and how many surge VMs it needs; runs again once readiness is known
//	readiness  the state of each VM as status shows it
//	deletion   VMs that leave without a scale-down: tombstones, status.deleting, the whole group
//	hold       VMs that a held group can keep although fewer were admitted
//	repair     VMs lost outside of the operator: replaced, or held back (repair.mode, maxUnhealthy)
//	replicas   too few: create at the lowest free ordinals; too many: choose which leave
//	update     VMs that the update concerns are changed in place, stopped to be changed, or chosen to leave
//	removal    doomed VMs are marked, powered off and destroyed, or released
//	power      first starts, spec.powerState, and wrong power states from outside
//	conclude   VMs of another revision are counted and named, and an update that has ended is emptied
//
// The result is an ordered list of Actions, Blockers that explain missing actions, and the table of VMs that status is derived from. Compute returns no error: bad input is a
// Blocker. Plan.Limit knows what each action costs and decides how many can run now.
//
// These rules hold for any input, and the property tests check them:
//
//   - an incomplete observation yields no action at all;
//   - a suspect VM (known, missing, not confirmed deleted) is neither replaced nor counted as deleted;
//   - a VM that is not ours is in no action;
//   - no clone asks for an instance UUID that an observed VM has;
//   - a VM with a tombstone, or whose ordinal is in Doomed, is never powered on and never counted;
//   - only an edit begins an update, and the update touches only VMs of the revisions that it began with;
//   - while more VMs are missing than allowed, for any reason, an update takes no available VM away; it never adds more than allowed;
//   - if the account is known to lack a privilege for a change, no VM is stopped for that change;
//   - an update clones no VM that a quota refuses, whether the update runs or not;
//   - no ordinal has two operations at a time (only the next step can overtake a guest shutdown that did not end in time);
//   - a VM that leaves is marked before its guest is asked to shut down, and the guest of a VM that must run is not asked;
//   - a guest that can be asked is asked before its VM is powered off, and has the time that spec.shutdown gives it;
//   - shuffling the input changes nothing.
package plan
