//go:build unix && slow

package crash

// See sizes_test.go for the meaning of the names.
const (
	sampled, lanes       = 60, 2
	long                 = true
	moments, moreMoments = 200, 50
	restarts             = 30
)
