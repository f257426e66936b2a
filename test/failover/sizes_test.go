//go:build unix && !slow

package failover

import "time"

// The part of `make test`: the three stories that need real processes and servers. sizes_slow_test.go has the rest.
const (
	// bounded enables bounds of real time. On a machine that also runs other tests, they measure the machine; package
	// world checks the same bounds, exactly, in virtual time.
	bounded = false
	// courtesy is how much longer than its right a replica's calls can be seen: on its way to the proxy, which runs in
	// this process, a call or its end can take a moment. It is half of the protocol's margin until another replica can
	// act.
	courtesy = 2 * time.Second
	// pace is the time between two changes of a group.
	pace = time.Second
)

// hardLosses are the ways to lose the hub for a story that tries them one after another.
var hardLosses = []string{"black-holed"}
