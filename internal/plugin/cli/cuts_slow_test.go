//go:build unix && slow

package cli

// everyCut is the distance of the calls at which a join is interrupted.
const everyCut = 1
