package vsphere

import "time"

// Load is what this process does at a vCenter, and what it waits for.
type Load struct {
	// Held slots are of tasks that run or are about to be submitted. Waiting are slots that groups want and do not have.
	Held, Waiting int
	// Limit is how many tasks all processes together run at most.
	Limit int
	// Oldest is since when the task runs that this process has waited for the longest, or zero.
	Oldest time.Time
}
