//go:build unix && slow

package failover

import (
	"flag"
	"time"
)

// All tests, with every bound. See sizes_test.go for the meaning of the names.
const (
	bounded  = true
	courtesy = 100 * time.Millisecond
	pace     = 150 * time.Millisecond

	// memberVisits and replicaVisits are how often a member and a replica join and leave before goroutines are counted.
	memberVisits, replicaVisits = 30, 8
	// churnRounds is how often replicas join and leave while groups change.
	churnRounds = 3
)

// rounds is 1 in make test-slow, whose parts are short.
var rounds = flag.Int("rounds", 1, "multiplies how often members and replicas come and go")

var hardLosses = []string{"refused", "black-holed"}
