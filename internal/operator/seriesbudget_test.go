package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	definitions "github.com/codeconnect/vmgroup-operator/internal/metrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// counted are the label values of countedSeries and histograms that a replica has, without the names of objects: those of the healthy fleet first.
type counted struct {
	of           *definitions.Definition
	well, broken [][]string
}

// product is every combination of values.
func product(lists ...[]string) [][]string {
	all := [][]string{nil}
	for _, list := range lists {
		var longer [][]string
		for _, row := range all {
			for _, value := range list {
				longer = append(longer, append(slices.Clone(row), value))
			}
		}
		all = longer
	}
	return all
}

var (
	// calledMethods are the methods that the operator calls continuously.
	calledMethods   = slices.Concat(readingMethods, changingMethods)
	readingMethods  = []string{"Login", "RetrieveServiceContent", "CreateContainerView", "CreateFilter", "WaitForUpdatesEx", "RetrievePropertiesEx", "QueryEvents"}
	changingMethods = []string{"CloneVM_Task", "PowerOnVM_Task", "PowerOffVM_Task", "ReconfigVM_Task", "Destroy_Task"}
	// calledOutcomes are the outcomes of methods: only methods that can change something are fenced.
	calledOutcomes = slices.Concat(
		product(readingMethods, slices.DeleteFunc(slices.Clone(definitions.RequestCodes), func(code string) bool { return code == "fenced" })),
		product(changingMethods, definitions.RequestCodes),
	)
	adopting  = []string{"ClaimVM", "MoveVM", "RenameVM", "AdoptVM", "RestampVM"}
	departing = []string{"ShutdownGuest", "PowerOffVM", "DestroyVM", "ReleaseVM", "MarkVM", "CancelClone"}
	// actionPairs are the pairs of action and cause that the plan has (plan.causeOf).
	actionPairs = slices.Concat(
		product(adopting, []string{"adopt"}), product([]string{"ReconfigureVM"}, []string{"update"}), product([]string{"CreateVM"}, []string{"create", "repair", "update"}),
		product([]string{"PowerOnVM"}, []string{"create", "repair", "update", "power"}), product(departing, []string{"delete", "update", "scale", "power"}),
	)
	// hubRequests are the possible outcomes of requests for Leases and the shard map.
	hubRequests = product([]string{"CreateSession", "WriteSession", "ReadSession", "DeleteSession", "ReadRing", "CreateRing", "WriteRing"}, []string{"Done", "Conflict", "Unknown"})
	verdicts    = []string{"allowed", "defaulted", "refused", "unavailable", "too_slow"}
)

func with(rows [][]string, last ...string) [][]string {
	all := make([][]string, 0, len(rows)*len(last))
	for _, row := range rows {
		for _, value := range last {
			all = append(all, append(slices.Clone(row), value))
		}
	}
	return all
}

var countedSeries = []counted{
	{definitions.Actions, with(actionPairs, "accepted"), with(actionPairs, "accepted", "refused")},
	{definitions.Drift, product(definitions.DriftKinds), product(definitions.DriftKinds)},
	{definitions.VMsDestroyed, product([]string{"deletion", "scale-down", "replacement"}), product([]string{"deletion", "scale-down", "replacement"})},
	{definitions.VMReadyTime, [][]string{nil}, [][]string{nil}},
	{definitions.VCenterRequests, product(calledMethods, []string{"ok"}), calledOutcomes},
	{definitions.VCenterRequestTime, product(definitions.RequestClasses), product(definitions.RequestClasses)},
	{definitions.VCenterTaskTime, product(definitions.TaskKinds), product(definitions.TaskKinds)},
	{definitions.QuotaAsks, product(definitions.QuotaOutcomes), product(definitions.QuotaOutcomes)},
	{definitions.QuotaLedgerWrites, [][]string{nil}, [][]string{nil}},
	{definitions.ShardingTakeover, [][]string{nil}, [][]string{nil}},
	{definitions.ShardingTakeovers, product([]string{"lease", "proof"}), product([]string{"lease", "proof"})},
	{definitions.ShardingRejections, product([]string{"lost", "yielding"}), product([]string{"lost", "yielding", "validity"})},
	{definitions.ShardingRequests, hubRequests, hubRequests},
	{definitions.HubWrittenBytes, product([]string{"record", "event"}), product([]string{"record", "ledger", "receipt", "event"})},
	{definitions.HubWriteWaits, nil, [][]string{nil}},
	{definitions.MemberStorageRestored, nil, [][]string{nil}},
	{definitions.AdmissionDuration, product([]string{"vmgroups"}), product([]string{"vmgroups"})},
}

// singleSeries are gauges with one series.
var singleSeries = []*definitions.Definition{
	definitions.ShardingOwnedBuckets, definitions.ShardingUnowned, definitions.ShardingUnownedFor, definitions.ShardingGeneration, definitions.ShardingWrites,
	definitions.ShardingValidity, definitions.ShardingLeader, definitions.ShardingSessions, definitions.ShardingTokens,
	definitions.AdmissionOldestAck, definitions.AdmissionCertificateExpiration, definitions.AdmissionCAExpiration, definitions.BuildInfo,
}

// objectNames are the names of all objects that a label can name.
func objectNames(label string) []string {
	n, named := map[string]int{"member": fleetMembers, "vcenter": fleetVCenters, "policy": fleetPolicies}[label], map[string]func(int) string{
		"member": memberNamed, "vcenter": vcenterNamed, "policy": policyNamed,
	}[label]
	all := make([]string, 0, n)
	for i := range n {
		all = append(all, named(i))
	}
	return all
}

// objectsOf are the combinations of objects that the labels of a metric name. A member uses two vCenters.
func objectsOf(d *definitions.Definition) (rows []map[string]string) {
	has := func(label string) bool { return slices.Contains(d.LabelNames(), label) }
	if has("member") && has("vcenter") {
		for i := range fleetMembers {
			for _, vcenter := range []string{vcenterNamed(i), vcenterNamed(i + 1)} {
				rows = append(rows, map[string]string{"member": memberNamed(i), "vcenter": vcenter})
			}
		}
		return rows
	}
	for _, label := range []string{"member", "vcenter", "policy"} {
		if !has(label) {
			continue
		}
		for _, name := range objectNames(label) {
			rows = append(rows, map[string]string{label: name})
		}
	}
	if rows == nil {
		rows = []map[string]string{{}}
	}
	return rows
}

// count adds the series of a metric to the registry. rows have the values of the labels that name no object.
func count(t *testing.T, registry prometheus.Registerer, d *definitions.Definition, rows [][]string) {
	t.Helper()
	var add func(values ...string)
	var vector prometheus.Collector
	switch d.Type {
	case definitions.Counter:
		v := d.NewCounter()
		vector, add = v, func(values ...string) { v.WithLabelValues(values...).Inc() }
	case definitions.Histogram:
		v := d.NewHistogram()
		vector, add = v, func(values ...string) { v.WithLabelValues(values...).Observe(1) }
	default:
		v := d.NewGauge()
		vector, add = v, func(values ...string) { v.WithLabelValues(values...).Set(1) }
	}
	registry.MustRegister(vector)
	for _, named := range objectsOf(d) {
		for _, row := range rows {
			values, rest := []string{}, row
			for _, label := range d.LabelNames() {
				if name, ok := named[label]; ok {
					values = append(values, name)
					continue
				}
				values, rest = append(values, rest[0]), rest[1:]
			}
			add(values...)
		}
	}
}

// admissionRequests are the verdicts of the webhook for each member: allowed and refused everywhere, and in a broken fleet each
// failure somewhere.
func (l large) admissionRequests(t *testing.T, registry prometheus.Registerer) {
	t.Helper()
	v := definitions.AdmissionRequests.NewCounter()
	registry.MustRegister(v)
	for i, member := range objectNames("member") {
		v.WithLabelValues("vmgroups", member, "allowed").Inc()
		if i%5 == 0 || l.broken {
			v.WithLabelValues("vmgroups", member, "refused").Inc()
		}
		if l.broken {
			v.WithLabelValues("vmgroups", member, verdicts[3+i%2]).Inc()
		}
	}
}

// TestSeriesStayWithinTheirBudget counts the series of a leader that holds all groups: 50 members with two of 5 vCenters each,
// 30 policies, 10 with a quota. Prometheus pays for each series of each replica. In the broken fleet each pair of member and
// vCenter has groups in every state and VMs in every state. Each vCenter answers each method with each code. That is an upper
// bound, which needs more than one fault.
func TestSeriesStayWithinTheirBudget(t *testing.T) {
	for _, c := range []struct {
		broken bool
		most   int
	}{{false, 2000}, {true, 4000}} {
		fleet := large{c.broken}
		registry := fleet.gauges(t, true, everyBucket{})
		for _, of := range countedSeries {
			rows := of.well
			if c.broken {
				rows = of.broken
			}
			count(t, registry, of.of, rows)
		}
		for _, d := range singleSeries {
			count(t, registry, d, [][]string{slices.Repeat([]string{"x"}, len(d.LabelNames()))})
		}
		fleet.admissionRequests(t, registry)

		total, by := 0, map[string]int{}
		for _, family := range families(t, registry) {
			for _, m := range family.GetMetric() {
				n := 1
				if h := m.GetHistogram(); h != nil {
					// Each bucket, the one without a bound, the sum and the number.
					n = len(h.GetBucket()) + 3
				}
				total, by[family.GetName()] = total+n, by[family.GetName()]+n
			}
		}
		if total > c.most {
			t.Errorf("broken: %t: %d series, at most %d: %v", c.broken, total, c.most, by)
		}
		if !c.broken {
			continue
		}
		for _, d := range definitions.All() {
			if by[d.Name] == 0 {
				t.Errorf("the budget leaves %s out", d.Name)
			}
		}
	}
}

// TestTheBudgetKnowsTheValuesOfLabels: a value that a definition lacks would be a series that does not exist.
func TestTheBudgetKnowsTheValuesOfLabels(t *testing.T) {
	for _, of := range countedSeries {
		var closed []definitions.Label
		for _, l := range of.of.Labels {
			if !slices.Contains([]string{"member", "vcenter", "policy"}, l.Name) {
				closed = append(closed, l)
			}
		}
		for _, row := range slices.Concat(of.well, of.broken) {
			for i, value := range row {
				if known := closed[i].Values; known != nil && !slices.Contains(known, value) {
					t.Errorf("%s has no %s %q, but %s", of.of.Name, closed[i].Name, value, strings.Join(known, ", "))
				}
			}
		}
	}
}

func TestMethodsThatOnlyReadAreNotFenced(t *testing.T) {
	for _, method := range readingMethods {
		if !session.ReadOnly(method) {
			t.Errorf("%s may change something, and is fenced", method)
		}
	}
}
