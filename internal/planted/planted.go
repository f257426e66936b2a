// Package planted names bugs that this kind of operator has had, here or elsewhere, and puts them back for a build
// with the tag planted: `make test-planted` builds the operator with each of them and shows which tests notice. In every
// other build Is is the constant false, and the compiler removes what depends on it.
package planted

const (
	// Tag of a build in which bugs can be planted.
	Tag = "planted"
	// Variable of the environment that then names the bug.
	Variable = "VMGROUP_PLANTED_BUG"
)

// Bug is a bug that can be put back.
type Bug string

// Bugs, each where the code asks for it.
const (
	// RandomNames gives VMs names that are new at each attempt, so that vCenter cannot refuse the second one.
	RandomNames Bug = "random-names"
	// JoinedFolderName joins namespace and name, so that a-b/c and a/b-c share a folder.
	JoinedFolderName Bug = "joined-folder-name"
	// DroppedFinalizer lets a group be deleted before its VMs are.
	DroppedFinalizer Bug = "dropped-finalizer"
	// EarlyRelease removes the finalizer while clones are still running.
	EarlyRelease Bug = "early-release"
	// ActBeforeIntent asks vCenter first and writes down later what was asked for.
	ActBeforeIntent Bug = "act-before-intent"
	// StaleCache decides on an object that is older than the operator's own last write.
	StaleCache Bug = "stale-cache"
	// PartialInventory decides on an inventory that is not complete.
	PartialInventory Bug = "partial-inventory"
	// MissingIsAbsent takes a VM that is not seen for one that does not exist.
	MissingIsAbsent Bug = "missing-is-absent"
	// SuddenlyEmpty believes a root folder that reads empty at once.
	SuddenlyEmpty Bug = "suddenly-empty"
	// IgnoredTaskError takes a task that has ended for one that has succeeded.
	IgnoredTaskError Bug = "ignored-task-error"
	// LostReplyIsFailure asks again at once when a reply was lost, although the request may be under way.
	LostReplyIsFailure Bug = "lost-reply-is-failure"
	// NoInheritedTasks forgets that clones of the process before may still be running.
	NoInheritedTasks Bug = "no-inherited-tasks"
	// FolderIsOwner takes every VM in the group's folder for the group's.
	FolderIsOwner Bug = "folder-is-owner"
	// StaleFault keeps the fault of the first answer when a call is repeated after a new login.
	StaleFault Bug = "stale-fault"
	// LeakedSessions leaves the login at vCenter when the operator ends, and those of the processes before it.
	LeakedSessions Bug = "leaked-sessions"
)

// All are all bugs, in the order in which they are tried.
var All = []Bug{
	RandomNames, JoinedFolderName, DroppedFinalizer, EarlyRelease, ActBeforeIntent, StaleCache, PartialInventory,
	MissingIsAbsent, SuddenlyEmpty, IgnoredTaskError, LostReplyIsFailure, NoInheritedTasks, FolderIsOwner, StaleFault,
	LeakedSessions,
}
