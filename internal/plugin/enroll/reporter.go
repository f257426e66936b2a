package enroll

// Reporter prints progress.
type Reporter interface {
	// Done reports a completed step; detail can be empty.
	Done(step, detail string)
	// Skipped reports a step that was not possible, and why. It does not make the command fail.
	Skipped(step, why string)
}
