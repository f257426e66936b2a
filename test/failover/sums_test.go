//go:build unix

package failover

import (
	"slices"
	"testing"
)

func TestSumsOfScrapesAreCompared(t *testing.T) {
	owned, seen, err := ParseScrape("# HELP vmgroup_groups VmGroups by state.\n" +
		"vmgroup_groups{member=\"m\",state=\"running\",vcenter=\"v\"} 3\nvmgroup_vms{member=\"m\",state=\"ready\",vcenter=\"v\"} 4\n" +
		"vmgroup_vcenter_tasks{vcenter=\"v\",state=\"running\"} 0\nvmgroup_sharding_owned_buckets 64\nvmgroup_vcenter_up{vcenter=\"v\"} 1\n" +
		"vmgroup_drift_total{kind=\"moved\"} 7\nvmgroup_groupsomething 8\ngo_goroutines 9\n")
	if err != nil {
		t.Fatal(err)
	}
	const groups, vms, buckets = `vmgroup_groups{member="m",state="running",vcenter="v"}`, `vmgroup_vms{member="m",state="ready",vcenter="v"}`, "vmgroup_sharding_owned_buckets"
	if d := owned.Differ(Series{groups: 3, vms: 4, buckets: 64}); len(d) > 0 {
		t.Errorf("of its share: %q", d)
	}
	if d := seen.Differ(Series{`vmgroup_vcenter_up{vcenter="v"}`: 1}); len(d) > 0 {
		t.Errorf("of its view: %q", d)
	}
	total := Sum(owned, Series{groups: 2, vms: 1})
	want := []string{groups + " is 5, want 4", vms + " is 5, want 0"}
	if got := total.Differ(Series{groups: 4, buckets: 64}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := total.Above(Series{groups: 6, vms: 4, buckets: 64}); !slices.Equal(got, []string{vms + " is 5, want at most 4"}) {
		t.Errorf("got %q", got)
	}
	if got := total.Differ(Sum(total, Series{"vmgroup_rollouts": 1})); !slices.Equal(got, []string{"vmgroup_rollouts is 0, want 1"}) {
		t.Errorf("a series that is missing: %q", got)
	}
	if _, _, err := ParseScrape("vmgroup_groups{member=\"m\"} x\n"); err == nil {
		t.Error("a value that is no number is accepted")
	}
}
