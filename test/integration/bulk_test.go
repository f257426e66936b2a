//go:build unix

package integration

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// idle is the required time without activity. Unlike a sleep, it is under test: it ends early, and fails, as soon as a
// call or write for a group is counted.
const idle = 10 * time.Second

// TestTwentyGroupsBecomeReadyAndThenCostNothing is a small and short part of `make bench BENCH=idle`, which also
// measures memory.
func TestTwentyGroupsBecomeReadyAndThenCostNothing(t *testing.T) {
	w := troubled.enter(t)
	const groups, replicas = 10, 2
	places := []*place{newPlace(t, w, "team-a", "bulk"), newPlace(t, w, "team-b", "bulk")}
	for _, p := range places {
		for i := range groups {
			g := p.group(fmt.Sprintf("vg-%d", i), replicas, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = bulk })
			if err := p.cluster.Create(t.Context(), g); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { p.cleanUpAll() })
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for _, p := range places {
		if err := await.Condition(ctx, "all groups of "+p.member+" to be ready", func(ctx context.Context) (bool, error) {
			list := &v1alpha1.VmGroupList{}
			if err := p.cluster.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
				return false, err
			}
			for _, g := range list.Items {
				if !stack.IsReady(g.Status.Conditions) || g.Status.ReadyReplicas != replicas {
					return false, nil
				}
			}
			return len(list.Items) == groups, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d groups with %d VMs were ready after %s", 2*groups, 2*groups*replicas, time.Since(began).Round(10*time.Millisecond))
	untilVCenterHolds(t, w, "/DC0/vm/bulk", 2*groups*replicas)
	untilCounted(t, w, 2*groups*replicas)

	untilQuiet(t, w)
	before, calls := writes(t, w), perGroupCalls(w)
	timer := time.NewTimer(idle)
	defer timer.Stop()
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case <-timer.C:
			done = true
		case <-tick.C:
		}
		if extra := localcluster.Since(before, writes(t, w)); len(extra) > 0 {
			t.Fatalf("writes while nothing changed: %v; the VCenters now: %s", extra, vcentersNow(t, w))
		}
		if now := perGroupCalls(w); now != calls {
			t.Fatalf("%d SOAP calls besides the one poll per vCenter while nothing changed: %v", now-calls, w.Proxy.Calls())
		}
	}
}

// untilCounted waits until the VCenter's status, whose counts are delayed, shows this number of VMs and no running
// tasks.
func untilCounted(t *testing.T, w *world, vms int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	vcenter := &v1alpha1.VCenter{}
	if err := await.Condition(ctx, "VCenter bulk to have counted its VMs", func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, key("", bulk), vcenter)
		return int(vcenter.Status.VMs) == vms && vcenter.Status.RunningTasks == 0, err
	}); err != nil {
		t.Fatal(err)
	}
}

// untilQuiet waits until the last statuses, which can be delayed for a second, and counts, which can be delayed for
// ten, are written.
func untilQuiet(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	last, lastChange, lastLook := "", time.Now(), time.Time{}
	changed, before := map[localcluster.RequestKey]int{}, writes(t, w)
	if err := await.Condition(ctx, "nothing to be written for 15 s", func(context.Context) (bool, error) {
		// All metrics of an API server cost it a tenth of a second.
		if time.Since(lastLook) < 2*time.Second {
			return false, nil
		}
		lastLook = time.Now()
		written := writes(t, w)
		if now := fmt.Sprint(written, perGroupCalls(w)); now != last {
			changed, before = localcluster.Since(before, written), written
			last, lastChange = now, time.Now()
		}
		return time.Since(lastChange) > 15*time.Second, nil
	}); err != nil {
		t.Fatalf("%v; written last: %v; the VCenters now: %s", err, changed, vcentersNow(t, w))
	}
}

// writes counts all writes to the operator's kinds, and events, by the API servers' own metrics. A member's
// VmGroupLimits are omitted: they are applied again every five minutes, changed or not.
func writes(t *testing.T, w *world) map[localcluster.RequestKey]int {
	t.Helper()
	all := map[localcluster.RequestKey]int{}
	for _, c := range []*stack.Cluster{w.Hub, w.Members["team-a"], w.Members["team-b"]} {
		counts, err := c.Requests(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for k, n := range counts {
			if k.Writes() && k.Resource != "vmgrouplimits" && (k.Group == v1alpha1.GroupVersion.Group || k.Resource == "events") {
				all[k] += n
			}
		}
	}
	return all
}

// vcentersNow prints the VCenters' conditions, for a failure.
func vcentersNow(t *testing.T, w *world) string {
	t.Helper()
	list := &v1alpha1.VCenterList{}
	if err := w.Hub.List(t.Context(), list); err != nil {
		return err.Error()
	}
	var said strings.Builder
	for _, v := range list.Items {
		fmt.Fprintf(&said, "\n%s, managed fields %v: %+v", v.Name, v.ManagedFields[len(v.ManagedFields)-1].Time, v.Status)
	}
	return said.String()
}

// perGroupCalls counts the SOAP calls other than a vCenter connection's poll or watch, and its health checks.
func perGroupCalls(w *world) int {
	n := 0
	for call, count := range w.Proxy.Calls() {
		switch call.Method {
		case "", "RetrievePropertiesEx", "ContinueRetrievePropertiesEx", "WaitForUpdatesEx":
		default:
			n += count
		}
	}
	return n
}

// cleanUpAll deletes every group of the place and waits for their deletion.
func (p *place) cleanUpAll() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := p.cluster.DeleteAllOf(ctx, &v1alpha1.VmGroup{}, client.InNamespace(p.namespace)); err != nil {
		p.t.Errorf("clean up: %v", err)
	}
	if err := await.Condition(ctx, "all groups of "+p.member+" to be gone", func(ctx context.Context) (bool, error) {
		list := &v1alpha1.VmGroupList{}
		err := p.cluster.List(ctx, list, client.InNamespace(p.namespace))
		return len(list.Items) == 0, err
	}); err != nil {
		p.t.Errorf("clean up: %v", err)
	}
}

func TestStatusIsBoundedAndOnePatchHoldsIt(t *testing.T) {
	w := troubled.enter(t)
	p := newPlace(t, w, "team-a", "writes")
	before, began := writes(t, w), time.Now()
	p.apply(p.group("vg", 8, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = bulk }))
	p.untilRunning("vg", 8)
	n := 0
	for k, count := range localcluster.Since(before, writes(t, w)) {
		if k.Resource == "vmgroups" && k.Verb == "PATCH" {
			n += count
		}
	}
	// One for the finalizer, one for folder and intents, one for the end, and at most one report per second: a busy
	// machine needs more of them.
	took := time.Since(began)
	if most := 5 + int(math.Ceil(took.Seconds())); n > most {
		t.Errorf("a scale-up to 8 VMs took %d writes in %s, want at most %d", n, took, most)
	}
	p.patch("vg", `{"metadata":{"annotations":{"note":"touched"}}}`)
	g := p.get("vg")
	if !strings.Contains(g.Status.Selector, g.Name) {
		t.Errorf("selector %q", g.Status.Selector)
	}
	if err := p.cluster.SubResource("scale").Patch(t.Context(), p.group("vg", 0), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`))); err != nil {
		t.Fatalf("kubectl scale: %v", err)
	}
	p.untilRunning("vg", 1)
}
