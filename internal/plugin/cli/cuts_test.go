//go:build unix && !fast && !slow

package cli

// everyCut is the distance of the calls at which a join is interrupted. The slow tests interrupt it at each.
const everyCut = 17
