//go:build unix && slow

package failover

import "time"

// Everything, with every bound. See sizes_test.go for what the names mean.
const (
	worldCount = 2
	bounded    = true
	courtesy   = 100 * time.Millisecond

	// memberVisits and replicaVisits are how often a member and a replica come and go before goroutines are counted.
	memberVisits, replicaVisits = 30, 8
	// churnRounds is how often replicas come and go while groups do.
	churnRounds = 3
)

var hardLosses = []string{"refused", "black-holed"}
