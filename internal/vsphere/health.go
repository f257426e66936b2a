package vsphere

import "time"

// Health is the state of the connection to a vCenter.
type Health struct {
	// Reachable is true while calls succeed.
	Reachable bool
	// Err is the reason why the vCenter is not reachable, or nil. It wraps *Error.
	Err error
	// Since is the time of the last change of Reachable.
	Since time.Time
	// Version and InstanceUUID of the server. They are empty until the first connection.
	Version, InstanceUUID string
	// Complete is true if the inventory index holds every VM below the root folder.
	Complete bool
	// Incomplete is the reason why Complete is false, as a sentence for a user.
	Incomplete string
	// SuddenlyEmpty is true if the root folder held VMs and then read empty at once. The operator creates and deletes nothing until a user accepts the empty
	// folder.
	SuddenlyEmpty bool
	// Predecessor is the installation whose VMs this installation adopts. It is empty until vCenter confirms that the named installation has no session.
	Predecessor string
	// PredecessorProblem is the reason why Predecessor is empty although one is named. It is empty until the first check has a result.
	PredecessorProblem string
	// Place is the location of the root folder, or zero before the first connection. PlaceProblem names the action that makes it found by name.
	Place        Place
	PlaceProblem PlaceProblem
	// MissingPrivileges are the privileges that the account lacks on the root folder, sorted.
	MissingPrivileges []string
	// Templates, VMs and RunningTasks are counts for status. VMs counts VMs with this installation's stamp, including missing VMs that are not confirmed as
	// deleted.
	Templates, VMs, RunningTasks int
}

// Load counts what this process runs and waits for at a vCenter.
type Load struct {
	// Held are slots of tasks that run or are about to be submitted. Waiting are slots that groups want but do not have.
	Held, Waiting int
	// Limit is the maximum number of concurrent tasks of all processes together.
	Limit int
	// Oldest is the start of the longest-running task that this process waits for, or zero.
	Oldest time.Time
}
