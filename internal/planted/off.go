//go:build !planted

package planted

// Is reports whether a bug is to be there. It is not.
func Is(Bug) bool { return false }
