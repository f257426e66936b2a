package install

// Finding is what is known about one condition of a member; a nil *Finding is "not known".
type Finding struct {
	OK bool
	// Reason and Message of the condition.
	Reason, Message string
}
