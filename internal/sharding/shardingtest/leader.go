package shardingtest

// Leader is a sharding.Leader that a test sets. The test must not set it while another goroutine reads it.
type Leader bool

// Leading implements sharding.Leader.
func (l *Leader) Leading() bool { return bool(*l) }
