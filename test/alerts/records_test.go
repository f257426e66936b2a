package alerts

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
)

// TestRecordedSeriesHaveTheRightValues evaluates the recording rules over an hour of the busy fleet with clones and takeovers.
func TestRecordedSeriesHaveTheRightValues(t *testing.T) {
	s := story{series: []series{
		steadily(`vmgroup_vm_ready_duration_seconds_bucket{pod="a",vcenter="vc-1",le="600"}`, 9),
		steadily(`vmgroup_vm_ready_duration_seconds_bucket{pod="a",vcenter="vc-1",le="3600"}`, 10),
		steadily(`vmgroup_vm_ready_duration_seconds_count{pod="a",vcenter="vc-1"}`, 10),
		steadily(`vmgroup_sharding_takeover_seconds_bucket{pod="a",le="15"}`, 3),
		steadily(`vmgroup_sharding_takeover_seconds_count{pod="a"}`, 4),
	}}
	line, err := newTimeline(s, 0)
	if err != nil {
		t.Fatal(err)
	}
	e, err := newEngine()
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	set, err := e.load("records", records(rulesOf(t)), true)
	if err != nil {
		t.Fatal(err)
	}
	at := epoch
	for since := time.Duration(0); since <= time.Hour; since += step {
		at = epoch.Add(since)
		if err := e.scrape(at, line.next(since)); err != nil {
			t.Fatal(err)
		}
		if _, err := set.eval(at); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]float64{
		"vmgroup:vms_missing:ratio":                  20.0 / 1020,
		"vmgroup:vms_missing:ratio_avg5m":            20.0 / 1020,
		"vmgroup:vms_missing:ratio_avg30m":           20.0 / 1020,
		"vmgroup:vms_missing:ratio_avg1h":            20.0 / 1020,
		"vmgroup:vms_missing:ratio_avg6h":            20.0 / 1020,
		"vmgroup:vm_ready_late:ratio_rate1h":         0.1,
		"vmgroup:takeover_in_time:ratio_increase30d": 0.75,
	}
	for _, rule := range records(rulesOf(t)) {
		if _, there := want[rule.Record]; !there {
			t.Errorf("%s has no value in this test", rule.Record)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		vector, err := e.query(context.Background(), name, at)
		if err != nil {
			t.Fatal(err)
		}
		if len(vector) != 1 {
			t.Errorf("%s has %d series", name, len(vector))
			continue
		}
		if diff := vector[0].F - want[name]; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s is %g, want %g", name, vector[0].F, want[name])
		}
		if got := vector[0].Metric.Get("namespace"); got != namespace {
			t.Errorf("%s has namespace %q: operators of two namespaces would have one series", name, got)
		}
	}
}

// TestTheBurnAlertsNeedEachOfTheirRecords runs the stories of the service level without one recording rule at a time.
func TestTheBurnAlertsNeedEachOfTheirRecords(t *testing.T) {
	list := rulesOf(t)
	for alert, needed := range map[string][]string{
		"VmGroupVMsMissingFast": {"vmgroup:vms_missing:ratio", "vmgroup:vms_missing:ratio_avg5m", "vmgroup:vms_missing:ratio_avg1h"},
		"VmGroupVMsMissingSlow": {"vmgroup:vms_missing:ratio", "vmgroup:vms_missing:ratio_avg30m", "vmgroup:vms_missing:ratio_avg6h"},
	} {
		i := slices.IndexFunc(groupStories, func(s story) bool { return s.alert == alert })
		s := groupStories[i]
		for _, record := range needed {
			less := slices.DeleteFunc(records(list), func(r rulefmt.Rule) bool { return r.Record == record })
			if len(less) == len(records(list)) {
				t.Fatalf("there is no %s", record)
			}
			if got := s.play(t, s.longFault(), append(less, ruleOf(t, list, alert))); len(got[0].trace) > 0 {
				t.Errorf("%s fires without %s", alert, record)
			}
		}
	}
}
