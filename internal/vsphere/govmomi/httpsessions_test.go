package govmomi_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere/govmomi"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// sessionsAt returns a client's number of sessions at a simulator, including logins.
func sessionsAt(s *sim.Simulator, agent string) (n int) {
	for of, count := range s.HTTPSessions() {
		if strings.HasPrefix(of, agent) {
			n += count
		}
	}
	return n
}

func TestAnHourOfThreeReplicasLeavesTwoSessionsEachAtMost(t *testing.T) {
	runsInParallel(t)
	for name, o := range map[string]sim.Options{"with the file of versions": {}, "without": {NoVersionsFile: true}} {
		t.Run(name, func(t *testing.T) {
			s, err := sim.Start(o)
			must(t, err)
			t.Cleanup(s.Close)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				var replicas sync.WaitGroup
				agents := []string{"replica-0", "replica-1", "replica-2"}
				servers := make([]*govmomi.Server, 0, len(agents))
				for _, agent := range agents {
					server := govmomi.New(govmomi.Config{
						Name: "vc", Installation: installation, Mode: govmomi.Poll, PollInterval: time.Minute,
						Session: session.Config{URL: s.URL, Username: "user", Password: "pass", UserAgent: agent, Transport: s.Transport()},
					})
					servers = append(servers, server)
					replicas.Go(func() { _ = server.Run(ctx) })
				}
				<-time.After(time.Hour - time.Second)
				synctest.Wait()
				for i, agent := range agents {
					if n := sessionsAt(s, agent); n < 1 || n > 2 || !servers[i].Health().Reachable {
						t.Errorf("%s has %d sessions after an hour, reachable: %t", agent, n, servers[i].Health().Reachable)
					}
				}
				replicas.Wait()
			})
		})
	}
}
