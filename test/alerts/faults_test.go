package alerts

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// realFault is a fault of the whole product whose scrapes test/faults stores.
type realFault struct {
	name string
	// holds is how long the state during the fault lasts. Zero: longer than the longest `for` of a rule.
	holds time.Duration
	// want has the alerts that fire, each with the labels that name its object.
	want []string
}

// longerThanEveryFor is beyond the longest `for`, an hour.
const longerThanEveryFor = 75 * time.Minute

var realFaults = []realFault{
	{name: "template-missing", want: []string{"VmGroupStalled member=team-a vcenter=default"}},
	{name: "vcenter-down", want: []string{"VmGroupVCenterDown vcenter=default"}},
	{name: "password-rejected", want: []string{"VmGroupVCenterCredentialsRefused vcenter=default", "VmGroupVCenterCredentialsRefused vcenter=second"}},
	{name: "member-frozen", want: []string{"VmGroupMemberDown member=team-a"}},
	{name: "member-token-revoked", want: []string{"VmGroupMemberDown member=team-a"}},
	// The map is rebuilt in seconds, without a user.
	{name: "shard-map-deleted", holds: time.Minute, want: []string{"VmGroupShardMapRebuilt"}},
	// The repair takes seconds.
	{name: "repair-storm", holds: time.Minute, want: []string{"VmGroupRepairStorm vcenter=default"}},
	// The other replica has taken over all buckets.
	{name: "replica-paused"},
	{name: "orphan", want: []string{"VmGroupOrphanedVMs vcenter=default"}},
	{name: "quota-exhausted", want: []string{"VmGroupQuotaNearlyFull policy=shop resource=vms"}},
	{name: "certificate-changed", want: []string{"VmGroupVCenterMisconfigured reason=CertificateRefused vcenter=second"}},
	// After a user has confirmed the deletion of the VMs, the operator recreates all of them.
	{name: "root-folder-emptied", want: []string{"VmGroupInventorySuddenlyEmpty vcenter=default", "VmGroupRepairStorm vcenter=default"}},
	{name: "tasks-stuck", want: []string{"VmGroupTasksStuck vcenter=second"}},
	{name: "webhook-certificate-expires", want: []string{"VmGroupCertificateExpires"}},
}

// alertOf names an alert and the objects that its labels have.
func alertOf(t *testing.T, f fired) string {
	t.Helper()
	set, err := syntax.ParseMetric(f.labels)
	if err != nil {
		t.Fatal(err)
	}
	words := []string{f.alert}
	set.Range(func(l labels.Label) {
		if !slices.Contains([]string{"alertname", "severity", "namespace"}, l.Name) {
			words = append(words, l.Name+"="+l.Value)
		}
	})
	return strings.Join(words, " ")
}

// TestRealFaultsFireExactlyTheirAlerts evaluates the rules over the reports of the whole product's replicas before,
// during and after each fault.
func TestRealFaultsFireExactlyTheirAlerts(t *testing.T) {
	list, err := listedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := recordedFaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range stored {
		if !slices.ContainsFunc(realFaults, func(f realFault) bool { return f.name == name }) {
			t.Errorf("realFaults does not have fault %s with its alerts", name)
		}
	}
	for _, f := range realFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			scrapes, err := readRecording(kindFaults, f.name)
			if err != nil {
				t.Fatal(err)
			}
			// Every alert ends within the window of its rule, half an hour at most.
			const before, after = time.Hour, time.Hour
			holds := cmp.Or(f.holds, longerThanEveryFor)
			samples := newReplay(scrapes, list, before, holds)
			results, err := play(samples, before+holds+after, before+holds, rulesOf(t))
			if err := cmp.Or(err, samples.err); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range results[0].trace {
				for _, alert := range c.firing {
					got = append(got, alertOf(t, alert))
				}
				if c.since < before {
					t.Errorf("before the fault, at %s, these fire: %s", c.since, c.firing)
				}
			}
			slices.Sort(got)
			if got = slices.Compact(got); !slices.Equal(got, f.want) {
				t.Errorf("these fire:\n%s\nwant\n%s\nall:\n%s", strings.Join(got, "\n"), strings.Join(f.want, "\n"), results[0].trace)
			}
			if _, ends := results[0].trace.bounds(); len(got) > 0 && ends < 0 {
				t.Errorf("after the fault these do not end:\n%s", results[0].trace)
			}
		})
	}
}

// TestCountersOfARecordingGrowDuringAPhaseAndBetweenPhases checks the rate between two scrapes of a phase, the jump to
// the next phase, and the restart of a process.
func TestCountersOfARecordingGrowDuringAPhaseAndBetweenPhases(t *testing.T) {
	scrapes, err := parseRecording(strings.NewReader(strings.Join([]string{
		"# before 0 a up", "vmgroup_drift_total{kind=\"moved\"} 10", "vmgroup_vms 5",
		"# before 30000 a up", "vmgroup_drift_total{kind=\"moved\"} 12", "vmgroup_vms 5",
		"# during 60000 a up", "vmgroup_drift_total{kind=\"moved\"} 20", "vmgroup_vms 7",
		"# during 90000 a up", "vmgroup_drift_total{kind=\"moved\"} 22", "vmgroup_vms 8",
		"# during 90000 b down",
		"# after 120000 a up", "vmgroup_drift_total{kind=\"moved\"} 3", "vmgroup_vms 6", "vmgroup_x_timestamp_seconds 130",
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]metric{"vmgroup_drift_total": {Type: "counter"}, "vmgroup_vms": {Type: "gauge"}}
	r := newReplay(scrapes, list, 3*step, 2*step)
	want := []map[string]float64{
		{"vmgroup_drift_total": 10, "vmgroup_vms": 5},
		{"vmgroup_drift_total": 12, "vmgroup_vms": 5},
		{"vmgroup_drift_total": 14, "vmgroup_vms": 5},
		{"vmgroup_drift_total": 22, "vmgroup_vms": 8},
		{"vmgroup_drift_total": 24, "vmgroup_vms": 8},
		{"vmgroup_drift_total": 3, "vmgroup_vms": 6, "vmgroup_x_timestamp_seconds": float64(epoch.Add(5*step).Unix()) + 10},
	}
	for i, values := range want {
		got := r.next(time.Duration(i) * step)
		if len(got) != len(values) {
			t.Errorf("moment %d: %v", i, got)
		}
		for _, s := range got {
			if name := s.series.Get("__name__"); math.Abs(s.value-values[name]) > 1e-6 || s.series.Get("pod") != "a" {
				t.Errorf("moment %d: %s is %g, want %g", i, s.series, s.value, values[name])
			}
		}
	}
	if r.err != nil {
		t.Error(r.err)
	}
}

// notInFaults are metrics that no fault causes for certain, each with its cause.
var notInFaults = map[string]string{
	"vmgroup_mass_deletion_allowed_until_timestamp_seconds":  "an annotation of a MemberCluster",
	"vmgroup_member_credential_expiration_timestamp_seconds": "a kubeconfig that expires",
	"vmgroup_member_credential_renewal_timestamp_seconds":    "a member that issues no token",
	"vmgroup_released_vms":                                   "a deletion that keeps VMs",
	"vmgroup_rollouts":                                       "an update of a VmGroup",
	"vmgroup_quota_groups_held_by_vcenter":                   "a quota of a vCenter that does not respond",
	"vmgroup_queue_waiting":                                  "more VmGroups than workers",
	"vmgroup_policy_violations":                              "VmGroups that are older than a policy",
	"vmgroup_hub_write_wait_seconds_total":                   "a member whose users write much",
	"vmgroup_member_storage_restored_timestamp_seconds":      "an etcd from a backup",
	"vmgroup_groups_held":                                    "a mass deletion, or too many unhealthy VMs",
	"vmgroup_groups_not_ready":                               "fifteen minutes without being ready",
	"vmgroup_sharding_fence_rejections_total":                "a call that was about to be sent when the right to act ended",
}

// TestRecordingsHaveEveryMetric: a metric that the product does not report in any fault is one that rules and
// dashboards read in vain.
func TestRecordingsHaveEveryMetric(t *testing.T) {
	list, err := listedMetrics()
	if err != nil {
		t.Fatal(err)
	}
	stored, err := recordedFaults()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, fault := range stored {
		scrapes, err := readRecording(kindFaults, fault)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scrapes {
			for id := range s.values {
				bare, _, _ := strings.Cut(id, "{")
				name, _, known := family(bare, list)
				if _, library := ofLibraries[bare]; !known && !library {
					t.Errorf("%s: the product reports %s, which is not in the list", fault, bare)
				}
				found[name] = true
			}
		}
	}
	for name := range list {
		if _, left := notInFaults[name]; !found[name] && !left {
			t.Errorf("no recording has %s", name)
		}
	}
	for name := range notInFaults {
		if _, listed := list[name]; !listed {
			t.Errorf("there is no metric %s", name)
		}
	}
}
