//go:build unix && !slow

package failover

import "time"

// What `make test` does: the three stories that only real processes and servers can tell. sizes_slow_test.go has the rest.
const (
	// bounded says that bounds of real time are held. A machine that also runs other tests says more of itself than of the
	// operator; package world holds the same bounds, exactly, in virtual time.
	bounded = false
	// courtesy is for how much longer than its right lasts a replica's calls may be seen: on its way to the proxy, which runs in
	// this process, a call or the end of one may take a moment. Half of what the protocol leaves until somebody else may act.
	courtesy = 2 * time.Second
	// pace is the time from one change of a group to the next.
	pace = time.Second
)

// hardLosses are the ways to lose the hub that a story tries which takes one after the other.
var hardLosses = []string{"black-holed"}
