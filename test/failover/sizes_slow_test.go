//go:build unix && slow

package failover

import (
	"flag"
	"time"
)

// Everything, with every bound. See sizes_test.go for what the names mean.
const (
	bounded  = true
	courtesy = 100 * time.Millisecond
	pace     = 150 * time.Millisecond

	// memberVisits and replicaVisits are how often a member and a replica come and go before goroutines are counted.
	memberVisits, replicaVisits = 30, 8
	// churnRounds is how often replicas come and go while groups do.
	churnRounds = 3
)

// rounds is 1 in make test-slow, whose parts are short.
var rounds = flag.Int("rounds", 1, "multiplies how often members and replicas come and go")

var hardLosses = []string{"refused", "black-holed"}
