package shardingtest

// Leader is a sharding.Leader that a test sets. The test sets it while no other goroutine asks.
type Leader bool

// Leading implements sharding.Leader.
func (l *Leader) Leading() bool { return bool(*l) }
