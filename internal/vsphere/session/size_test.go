//go:build !slow

package session_test

// everyAnswer selects whether all structures that take long to decode are sent, about ten seconds.
const everyAnswer = false
