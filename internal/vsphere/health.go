package vsphere

import "time"

// Health is the state of the connection to a vCenter.
type Health struct {
	// Reachable is true while calls succeed.
	Reachable bool
	// Err is why the vCenter is not reachable, or nil. It wraps *Error.
	Err error
	// Since is when Reachable last changed.
	Since time.Time
	// Version and InstanceUUID of the server; empty until first connected.
	Version, InstanceUUID string
	// Complete is true when the inventory index holds every VM below the root folder.
	Complete bool
	// Incomplete says why Complete is false, as a sentence for a person.
	Incomplete string
	// SuddenlyEmpty is true when the root folder held VMs and then read empty at once: creating and deleting
	// pause until a person accepts it.
	SuddenlyEmpty bool
	// Predecessor is the installation whose VMs this one takes over: the one that was named, once vCenter said that it has no
	// session there; empty before.
	Predecessor string
	// PredecessorProblem says why Predecessor is empty although one was named; empty when nothing was found yet.
	PredecessorProblem string
	// Place is where the root folder is; zero before the first connection. PlaceProblem is what to do so that it is found by its name.
	Place        Place
	PlaceProblem PlaceProblem
	// MissingPrivileges are privileges that the account lacks on the root folder, sorted.
	MissingPrivileges []string
	// Templates, VMs and RunningTasks are counts for status; VMs counts VMs with this installation's stamp, also those that are missing and not known to be gone.
	Templates, VMs, RunningTasks int
}

// Load is what this process does at a vCenter, and what it waits for.
type Load struct {
	// Held slots are of tasks that run or are about to be submitted. Waiting are slots that groups want and do not have.
	Held, Waiting int
	// Limit is how many tasks all processes together run at most.
	Limit int
	// Oldest is since when the task runs that this process has waited for the longest, or zero.
	Oldest time.Time
}
