package operator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/membermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/policy/policymetrics"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter/vcentermetrics"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/collect"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// The fleet for which the number of series is bounded.
const (
	fleetMembers  = 50
	fleetVCenters = 5
	fleetPolicies = 30
	fleetQuotas   = 10
)

// large is that fleet, in which all is well or everything is broken at once. Each member uses two vCenters.
type large struct{ broken bool }

func memberNamed(i int) string  { return fmt.Sprint("member-", i%fleetMembers) }
func vcenterNamed(i int) string { return fmt.Sprint("vcenter-", i%fleetVCenters) }
func policyNamed(i int) string  { return fmt.Sprint("policy-", i%fleetPolicies) }

var scraped = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

type atScrape struct{}

func (atScrape) Now() time.Time { return scraped }

// everyBucket is held by a single replica.
type everyBucket struct{}

func (everyBucket) HeldBuckets() []int { return []int{0} }

type noBucket struct{}

func (noBucket) HeldBuckets() []int { return nil }

// VCenters of the fleet, as the collector of groups asks for them.
func (large) VCenters() map[string]struct{} {
	all := map[string]struct{}{}
	for i := range fleetVCenters {
		all[vcenterNamed(i)] = struct{}{}
	}
	return all
}

// Tallies has groups with every value of each label.
func (l large) Tallies() *tally.Book {
	book, n := tally.NewBook(), 0
	add := func(i int, s tally.Shape) {
		for _, vcenter := range []string{vcenterNamed(i), vcenterNamed(i + 1)} {
			n++
			cell := tally.Cell{Member: memberNamed(i), VCenter: vcenter}
			book.Add(0, tally.Group{Cell: cell, Key: fmt.Sprint(n), Namespace: "ns", Name: fmt.Sprint(n), Shape: &s})
		}
	}
	for i := range fleetMembers {
		add(i, running(tally.VMReady))
		// Some groups grow, and some are updated or paused.
		if i%5 == 0 {
			s := running(tally.VMStarting)
			s.State, s.Reason, s.Since = tally.Pending, "ScalingUp", scraped
			add(i, s)
		}
		if !l.broken {
			continue
		}
		for state := range tally.State(len(definitions.GroupStates)) {
			s := tally.Shape{State: state, Since: scraped.Add(-10 * time.Hour)}
			for j := range s.VMs {
				s.VMs[j] = 1
			}
			for j := range s.Held {
				s.Held[j] = true
			}
			s.Rollout = tally.Rollout(int(state) % (len(definitions.RolloutStates) + 1))
			s.Reason = reasonsOfFaults[(i+int(state))%len(reasonsOfFaults)]
			add(i, s)
		}
	}
	return book
}

func running(as tally.VMState) tally.Shape {
	s := tally.Shape{State: tally.Running, Desired: 1}
	s.VMs[as] = 1
	return s
}

// reasonsOfFaults are the concurrent reasons in a fleet in which every part is broken.
var reasonsOfFaults = []string{
	"VCenterUnreachable", "InvalidLogin", "InventoryIncomplete", "TemplateNotFound", "OutOfCapacity", "PermissionDenied", "OperationFailed", "QuotaExceeded", "PolicyViolated",
	"MassDeletion", "RepairHeld", "RolloutStopped", "VMsLost", "ForeignDisk", "ProgressDeadlineExceeded", "PlacementImpossible", "UserDataNotFound", "NotGranted",
}

func (l large) reason(well, broken string) string {
	if l.broken {
		return broken
	}
	return well
}

type seenVCenters struct{ large }

func (l seenVCenters) Seen() (all []vcentermetrics.VCenter) {
	for i := range fleetVCenters {
		all = append(all, vcentermetrics.VCenter{
			Name: vcenterNamed(i), Reason: l.reason("Connected", "InvalidLogin"), Reachable: !l.broken, Complete: !l.broken, VMs: 9, Orphaned: 1, Released: 1,
			Load: &vsphere.Load{Held: 1, Waiting: 1, Limit: 8, Oldest: scraped},
		})
	}
	return all
}

type seenMembers struct{ large }

func (l seenMembers) Seen() (all []membermetrics.Member) {
	ready := !l.broken
	for i := range fleetMembers {
		m := membermetrics.Member{Name: memberNamed(i), Up: ready, Reason: l.reason("Engaged", "MemberUnreachable"), Admission: &ready}
		if i%10 == 0 && l.broken { // a credential in ten expires soon, or is not renewed
			if m.Identity = "bootstrap"; i%20 == 0 {
				m.Expires = scraped
			} else {
				m.Renews = scraped
			}
		}
		if l.broken {
			m.AllowedUntil = scraped.Add(time.Minute)
		}
		all = append(all, m)
	}
	return all
}

// Counted implements policymetrics.Source.
func (l large) Counted() (all []policymetrics.Policy) {
	for i := range fleetPolicies {
		p := policymetrics.Policy{Name: policyNamed(i), Matched: 4}
		if l.broken {
			p.Violations = 1
		}
		all = append(all, p)
	}
	return all
}

// Fills implements quotametrics.Source.
func (large) Fills() (all []quotametrics.Fill) {
	for i := range fleetQuotas {
		for _, resource := range definitions.QuotaResources {
			all = append(all, quotametrics.Fill{Policy: policyNamed(i), Resource: resource, Used: 1, Hard: 2})
		}
	}
	return all
}

// HeldByVCenter implements quotametrics.Source.
func (l large) HeldByVCenter() map[string]int {
	all := map[string]int{}
	for i := range fleetVCenters {
		if l.broken {
			all[vcenterNamed(i)] = 1
		}
	}
	return all
}

// Waiting implements queuemetrics.Source.
func (large) Waiting() map[string]int {
	all := map[string]int{}
	for i := range fleetMembers {
		all[memberNamed(i)] = 1
	}
	return all
}

// gauges registers the collectors of gauges, as a replica with these rights has them.
func (l large) gauges(t *testing.T, leads bool, holds collect.Shards) *prometheus.Registry {
	t.Helper()
	registry, leader := prometheus.NewPedanticRegistry(), shardingtest.Leader(leads)
	registry.MustRegister(collect.Collector{Fleet: l, Shards: holds, Clock: atScrape{}})
	if err := registerViews(registry, &leader, views{seenVCenters{l}, seenMembers{l}, l, l, l}); err != nil {
		t.Fatal(err)
	}
	return registry
}

func families(t *testing.T, registry prometheus.Gatherer) []*dto.MetricFamily {
	t.Helper()
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEachMetricIsReportedByItsReporter takes the reporter from the definition of a metric, by which alerts and dashboards aggregate it: a replica that
// does not lead has no series of the leader, one without buckets none of the owner, and each has those of everyone.
func TestEachMetricIsReportedByItsReporter(t *testing.T) {
	// A replica reports its own tasks until they end, also those of buckets that it has handed over.
	withoutBuckets := []string{definitions.VCenterTasks.Name}
	for _, broken := range []bool{false, true} {
		fleet, seen := large{broken}, map[string]bool{}
		for _, leads := range []bool{false, true} {
			for _, holds := range []collect.Shards{noBucket{}, everyBucket{}} {
				owns := holds == collect.Shards(everyBucket{})
				names := map[string]bool{}
				for _, family := range families(t, fleet.gauges(t, leads, holds)) {
					names[family.GetName()], seen[family.GetName()] = true, true
				}
				for _, d := range definitions.All() {
					wrong := d.Reporter == definitions.Leader && !leads || d.Reporter == definitions.Owner && !owns && !slices.Contains(withoutBuckets, d.Name)
					if names[d.Name] && wrong {
						t.Errorf("%s, whose reporter is %s, is reported by a replica that leads: %t, and has buckets: %t", d.Name, d.Reporter, leads, owns)
					}
				}
			}
		}
		// Otherwise the definition omits an effect of the collector.
		for _, d := range definitions.All() {
			if d.Reporter != definitions.Everyone || !seen[d.Name] {
				continue
			}
			if !slices.ContainsFunc(families(t, fleet.gauges(t, false, noBucket{})), func(f *dto.MetricFamily) bool { return f.GetName() == d.Name }) {
				t.Errorf("%s, whose reporter is everyone, is not reported by a replica that does not lead and has no buckets", d.Name)
			}
		}
	}
}
