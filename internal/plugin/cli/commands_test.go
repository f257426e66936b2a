//go:build unix && !fast && !slow

package cli

// everyCommand selects whether kubectl runs each command that a verb prints, or one for each kind of object.
const everyCommand = false
