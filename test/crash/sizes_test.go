//go:build unix && !slow

package crash

// What `make test` tries; sizes_slow_test.go has what `make test-slow` does, command ./test/crash/full all points.
const (
	// sampled is the number of points that are tried, on as many lanes side by side.
	sampled, lanes = 12, 2
	// long scenarios are tried as well.
	long = false
	// moments at which a deletion races clones, and more of them where too few clones were raced.
	moments, moreMoments = 40, 20
	// restarts of the manager, politely and with SIGKILL in turn.
	restarts = 6
)
