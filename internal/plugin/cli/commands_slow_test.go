//go:build unix && !fast && slow

package cli

// everyCommand selects whether each verb is tested with kubectl and a dry run of the server, or one verb for each kind of command.
const everyCommand = true
