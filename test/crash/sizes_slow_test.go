//go:build unix && slow

package crash

// See sizes_test.go for what the names mean.
const (
	sampled, lanes       = 60, 2
	long                 = true
	moments, moreMoments = 200, 50
	restarts             = 30
)
