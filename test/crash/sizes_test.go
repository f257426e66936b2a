//go:build unix && !slow

package crash

// The part of `make test`; sizes_slow_test.go has that of `make test-slow`, command ./test/crash/full all points.
const (
	// sampled is the number of tried points, on as many concurrent lanes.
	sampled, lanes = 12, 2
	// long scenarios are tried as well.
	long = false
	// moments at which a deletion races clones, and more of them if too few clones were raced.
	moments, moreMoments = 40, 20
	// restarts of the manager, with SIGTERM and SIGKILL in turn.
	restarts = 6
)
