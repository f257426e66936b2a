//go:build !slow

package vcenter_test

// everyCall selects whether a probe is killed at each of its calls, or only at those that change
// something.
const everyCall = false
