// Package govmomi implements vsphere.Server on govmomi.
//
// A Server is one vCenter. Run keeps it connected and does all the watching. All other methods are short:
//
//	feed (watch or poll) ─┐
//	confirmer ────────────┼──► inventory.Index ──► Observe
//	task watcher ─────────┘                           ▲
//	     ▲                                            │
//	Clone, PowerOn, ... ──► operations.Tracker ───────┘
//
// The feed delivers listings and changes, and the confirmer asks vCenter about missing objects. The task watcher reads all
// running tasks with one call. With a second call it reads the VMs that they changed. Thus an effect is visible as soon as
// its task has ended, independent of the feed's pace. Nothing waits for a task.
//
// Views, collectors and filters end with their login. If the session was renewed, or if a call still fails after its
// repetitions, Run drops and rebuilds all of them. The known state stays, but is not trusted meanwhile. A watch that breaks
// on its own is reopened alone.
//
// Every change of vCenter carries the caller's fence. The only exception is the operator's root folder. The Server creates it
// at connection time under its own fence, which always permits. The creation is idempotent (vCenter refuses a second folder
// of the name), and every replica needs the folder.
package govmomi
