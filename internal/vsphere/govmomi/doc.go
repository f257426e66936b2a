// Package govmomi implements vsphere.Server on govmomi.
//
// A Server is one vCenter. Run keeps it connected and does all the watching; everything else is short:
//
//	feed (watch or poll) ─┐
//	confirmer ────────────┼──► inventory.Index ──► Observe
//	task watcher ─────────┘                           ▲
//	     ▲                                            │
//	Clone, PowerOn, ... ──► operations.Tracker ───────┘
//
// The feed brings listings and news, the confirmer asks vCenter about objects that are missing, and the task
// watcher reads all running tasks with one call and then, with one more, the VMs that they changed, so that
// an effect is visible as soon as its task has ended, whatever the feed's pace. Nothing waits for a task.
//
// Views, collectors and filters die with their login. When the session was renewed, or anything fails although it was
// repeated, Run drops all of them and builds them anew; what is known stays and is not trusted meanwhile. A watch that breaks
// by itself is opened anew by itself.
//
// Everything that changes vCenter carries the caller's fence. The only exception is the operator's root folder:
// it is created at connect under a fence of the Server's own that always holds, because creating it is
// idempotent (vCenter refuses a second folder of the name) and every replica needs it.
package govmomi
