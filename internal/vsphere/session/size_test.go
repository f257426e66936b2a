//go:build !slow

package session_test

// everyAnswer says whether all structures are sent that take long to decode, which is about ten seconds.
const everyAnswer = false
