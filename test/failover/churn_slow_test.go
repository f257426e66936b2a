//go:build unix && slow

package failover

import (
	"fmt"
	"testing"
)

func TestFailoverReplicasComeAndGoWhileGroupsDo(t *testing.T) {
	const more = 3
	rounds := churnRounds * *rounds
	ctx, s := story(t)
	same := s.sameProcesses()
	s.load.renews.Store(true)
	for round := range rounds {
		for i := range more {
			_, err := s.AddReplica(ctx, fmt.Sprintf("manager-%d", replicaCount+i))
			s.must(err)
		}
		s.untilShared(ctx)
		for range more {
			leaving := s.Replicas[replicaCount]
			s.must(leaving.Remove())
		}
		s.untilShared(ctx)
		s.Logf("round %d: from %d to %d replicas and back; %d moves so far", round+1, replicaCount, replicaCount+more, len(s.observer.Timeline().Moves(s.begin)))
	}
	same()
	s.end(ctx)
}
