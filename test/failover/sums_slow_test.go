//go:build unix && slow

package failover

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

const (
	// scrapeEvery is the time between two scrapes of all replicas during a takeover.
	scrapeEvery = time.Second
	// trueAgain is the time from the end of a replica until the sums are equal again.
	trueAgain = 15 * time.Second
)

// TestFailoverSumsOverReplicasAreTheTruthAtRestAndAfterAKill compares the sum of the replicas' reports with the API
// servers and vCenter, while no group changes.
func TestFailoverSumsOverReplicasAreTheTruthAtRestAndAfterAKill(t *testing.T) {
	ctx, s := story(t)
	s.must(s.load.changeAll(ctx))
	s.load.settle(ctx, s.T)
	s.onlyWhatWasAskedFor(ctx)
	owned, seen := s.truth(ctx)
	s.untilTrue(ctx, owned, seen)

	victim := s.Replicas[1]
	boot := s.bootOf(victim)
	last, _, err := scrape(ctx, victim)
	s.must(err)
	if len(last) == 0 {
		s.Fatal("the replica that is killed reports no groups: the story says nothing")
	}
	killed := time.Now()
	victim.Kill()
	s.watchSums(ctx, owned, seen, last, killed.Add(trueAgain))
	if problems := s.untrue(ctx, owned, seen); len(problems) > 0 {
		s.Errorf("%s after the end of a replica: %s", trueAgain, strings.Join(problems, "; "))
	}
	s.ownedAgain(boot, killed)

	s.must(victim.Restart(ctx))
	s.untilShared(ctx)
	s.untilTrue(ctx, owned, seen)
	s.end(ctx)
}

// watchSums scrapes the running replicas until a moment. The dead one's last scrape can count in addition to others'
// reports of the same groups, as in Prometheus until the next scrape fails. Sums above the truth alone last no longer
// than from one scrape to the next.
func (s *tale) watchSums(ctx context.Context, owned, seen, last Series, until time.Time) {
	s.Helper()
	tick := time.NewTicker(scrapeEvery)
	defer tick.Stop()
	scrapes, least, above := 0, owned[allBuckets], map[string]bool{}
	for time.Now().Before(until) {
		total, views := s.scrapeAll(ctx)
		scrapes, least = scrapes+1, min(least, total[allBuckets])
		for _, problem := range total.Above(Sum(owned, last)) {
			s.Errorf("during the takeover, with what the dead replica had: %s", problem)
		}
		now := map[string]bool{}
		for id, value := range total {
			if now[id] = value > owned[id]; now[id] && above[id] {
				s.Errorf("during the takeover %s is %g at a second scrape, the truth is %g", id, value, owned[id])
			}
		}
		above = now
		for name, view := range views {
			for _, problem := range view.Above(seen) {
				s.Errorf("during the takeover, %s: %s", name, problem)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatal(ctx.Err())
		}
	}
	s.Logf("%d scrapes during the takeover; at the least %g of %g buckets were reported", scrapes, least, owned[allBuckets])
	if least == owned[allBuckets] {
		s.Error("nothing was ever taken over: the story says nothing")
	}
}

// allBuckets is the series of the buckets.
const allBuckets = "vmgroup_sharding_owned_buckets"

// truth is the state of the API servers and vCenter, as the metrics name it: the sum of all replicas' reports, and the
// view of each.
func (s *tale) truth(ctx context.Context) (owned, seen Series) {
	s.Helper()
	owned, seen = Series{allBuckets: buckets}, Series{}
	groups := &v1alpha1.VmGroupList{}
	s.must(s.Members[member].List(ctx, groups))
	vcenters := &v1alpha1.VCenterList{}
	s.must(s.Hub.List(ctx, vcenters))
	members := &v1alpha1.MemberClusterList{}
	s.must(s.Hub.List(ctx, members))
	if len(vcenters.Items) != 1 || len(members.Items) != 1 {
		s.Fatalf("there are %d VCenters and %d MemberClusters, and this story knows one of each", len(vcenters.Items), len(members.Items))
	}
	vcenter := vcenters.Items[0].Name
	cell := fmt.Sprintf(`member=%q,%%svcenter=%q`, member, vcenter)
	for i := range groups.Items {
		owned["vmgroup_groups{"+fmt.Sprintf(cell, `state="running",`)+"}"]++
		owned["vmgroup_vms_desired{"+fmt.Sprintf(cell, "")+"}"] += float64(*groups.Items[i].Spec.Replicas)
	}
	vms, err := s.Person.VMs(ctx)
	s.must(err)
	for _, vm := range vms {
		if vm.Extra["vmgroup.owner"] == "" {
			continue
		}
		seen[fmt.Sprintf("vmgroup_vcenter_vms{vcenter=%q}", vcenter)]++
		if vm.On {
			owned["vmgroup_vms{"+fmt.Sprintf(cell, `state="ready",`)+"}"]++
		}
	}
	seen[fmt.Sprintf("vmgroup_vcenter_up{vcenter=%q}", vcenter)] = 1
	seen[fmt.Sprintf("vmgroup_vcenter_inventory_complete{vcenter=%q}", vcenter)] = 1
	seen[fmt.Sprintf("vmgroup_member_up{member=%q}", members.Items[0].Name)] = 1
	return owned, seen
}

// untilTrue waits until the replicas report the truth.
func (s *tale) untilTrue(ctx context.Context, owned, seen Series) {
	s.Helper()
	var problems []string
	defer func() {
		if len(problems) > 0 {
			s.Logf("the replicas report: %s", strings.Join(problems, "; "))
		}
	}()
	s.until(ctx, "the replicas to report what there is", func() bool {
		problems = s.untrue(ctx, owned, seen)
		return len(problems) == 0
	})
}

// untrue is the difference between the running replicas' reports and the truth.
func (s *tale) untrue(ctx context.Context, owned, seen Series) []string {
	s.Helper()
	total, views := s.scrapeAll(ctx)
	problems := total.Differ(owned)
	for _, r := range s.Replicas {
		view, responds := views[r.Name]
		if !responds && r.Alive() {
			problems = append(problems, r.Name+" does not respond")
		}
		if responds {
			for _, problem := range view.Differ(seen) {
				problems = append(problems, r.Name+": "+problem)
			}
		}
	}
	return problems
}

// scrapeAll scrapes all running replicas at the same time. One that does not respond in time has no series, as in
// Prometheus.
func (s *tale) scrapeAll(ctx context.Context) (total Series, views map[string]Series) {
	type result struct{ owned, seen Series }
	var running sync.WaitGroup
	results := make([]result, len(s.Replicas))
	for i, r := range s.Replicas {
		if r.Alive() {
			running.Go(func() {
				if owned, seen, err := scrape(ctx, r); err == nil {
					results[i] = result{owned, seen}
				}
			})
		}
	}
	running.Wait()
	total, views = Series{}, map[string]Series{}
	for i, one := range results {
		if one.owned != nil {
			total, views[s.Replicas[i].Name] = Sum(total, one.owned), one.seen
		}
	}
	return total, views
}

func scrape(ctx context.Context, r *stack.Replica) (owned, seen Series, err error) {
	text, err := r.Metrics(ctx)
	if err != nil {
		return nil, nil, err
	}
	return ParseScrape(text)
}
