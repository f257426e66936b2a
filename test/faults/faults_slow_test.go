//go:build unix && slow

package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// fault breaks the world, and waits until the replicas report it. mend repairs the world.
type fault struct {
	name        string
	breaks, end func(t *testing.T, w *world)
}

var faults = []fault{
	{"template-missing", templateMissing, templateBack},
	{"vcenter-down", vcenterDown, vcenterUp},
	{"password-rejected", passwordRejected, passwordCorrected},
	{"member-frozen", memberFrozen, memberBack},
	{"member-token-revoked", tokenRevoked, memberBack},
	{"shard-map-deleted", shardMapDeleted, shardMapBack},
	{"repair-storm", repairStorm, repaired},
	{"replica-paused", replicaPaused, replicaContinues},
	{"orphan", orphan, orphanRemoved},
	{"quota-exhausted", quotaExhausted, quotaRaised},
	{"certificate-changed", certificateChanged, certificateAccepted},
	{"tasks-stuck", tasksStuck, tasksGoOn},
	{"webhook-certificate-expires", webhookCertificateExpires, webhookCertificateRenewed},
	// The last fault: the new vCenter has no client logged in that could act without the operator.
	{"root-folder-emptied", rootEmptied, rootBack},
}

// TestFaultsAreReported breaks one world in each way, one after another. Over the replicas' reports, the rules of
// the chart fire exactly the expected alerts.
func TestFaultsAreReported(t *testing.T) {
	w := newWorld(t, groupVMs)
	dir := t.TempDir()
	var made []string
	for _, f := range faults {
		if ok := t.Run(f.name, func(t *testing.T) {
			r := &recording{}
			w.well(t)
			r.phase(t, w, phases[0])
			f.breaks(t, w)
			r.phase(t, w, phases[1])
			f.end(t, w)
			w.well(t)
			r.phase(t, w, phases[2])
			r.store(t, dir, "faults", f.name)
			made = append(made, f.name)
		}); !ok {
			break
		}
	}
	tests := "TestRealFaultsFireExactlyTheirAlerts"
	if len(made) == len(faults) {
		tests += "|TestRecordingsHaveEveryMetric"
	}
	evaluate(t, dir, fmt.Sprintf("^(%s)$/^(%s)$", tests, strings.Join(made, "|")))
}

// well waits until no fault is left, from one scrape to the next. A replica that has just logged in can look well for
// a moment, before its first reading of a vCenter's inventory.
func (w *world) well(t *testing.T) {
	t.Helper()
	replicas := float64(len(w.Replicas))
	wanted := []struct {
		value  float64
		metric string
		labels []string
	}{
		{replicas * vcenters, "vmgroup_vcenter_up", nil},
		{replicas * vcenters, "vmgroup_vcenter_inventory_complete", nil},
		{replicas, "vmgroup_member_up", nil},
		{1, "vmgroup_member_admission_ready", nil},
		{replicas, "vmgroup_build_info", nil},
		{1, "vmgroup_sharding_leader", nil},
		{2, "vmgroup_groups", nil},
		{2, "vmgroup_groups", []string{`state="running"`}},
		{w.vms, "vmgroup_vms", []string{`state="ready"`}},
		{0, "vmgroup_orphaned_vms", nil},
		{0, "vmgroup_sharding_unowned_seconds", nil},
	}
	since := time.Now()
	w.until(t, "no fault to be left", func(ctx context.Context) (bool, error) {
		for _, m := range wanted {
			if got := w.reported(ctx, m.metric, m.labels...); got != m.value {
				since = time.Now()
				return false, fmt.Errorf("%s%v is %g, want %g", m.metric, m.labels, got, m.value)
			}
		}
		return time.Since(since) >= apart, nil
	})
}

func templateMissing(t *testing.T, w *world) {
	w.apply(t, "typo", 1, func(s *v1alpha1.VmGroupSpec) { s.Template = "no-such-template" })
	w.reports(t, 1, "vmgroup_groups", `state="error"`)
}

func templateBack(t *testing.T, w *world) { w.remove(t, "typo") }

func vcenterDown(t *testing.T, w *world) {
	w.Proxy.Hook(func(sim.Call) faultproxy.Fault { return faultproxy.Fault{Act: faultproxy.CutBefore} })
	w.Proxy.CutConnections()
	w.reports(t, 0, "vmgroup_vcenter_up", `vcenter="default"`)
}

func vcenterUp(_ *testing.T, w *world) { w.Proxy.Hook(nil) }

func setPassword(t *testing.T, w *world, password string) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := w.Hub.Get(t.Context(), types.NamespacedName{Namespace: stack.Namespace, Name: "vc-creds"}, secret); err != nil {
		t.Fatal(err)
	}
	secret.StringData = map[string]string{"password": password}
	if err := w.Hub.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

func passwordRejected(t *testing.T, w *world) {
	setPassword(t, w, "wrong")
	if _, err := w.Person.TerminateSessionsOf(t.Context(), func(s vimtypes.UserSession) bool { return s.UserName == stack.Username }); err != nil {
		t.Fatal(err)
	}
	w.second.EndLogins()
	w.reports(t, 2*vcenters, "vmgroup_vcenter_status", `reason="InvalidLogin"`)
}

func passwordCorrected(t *testing.T, w *world) { setPassword(t, w, stack.Password) }

func memberFrozen(t *testing.T, w *world) {
	proxy := w.Members[member].Proxy
	proxy.Hook(func(localcluster.APICall) faultproxy.Fault { return faultproxy.Fault{Act: faultproxy.Hang} })
	proxy.CutConnections()
	w.reports(t, 0, "vmgroup_member_up")
	w.reports(t, 2*vcenters, "vmgroup_vcenter_inventory_complete")
}

func tokenRevoked(t *testing.T, w *world) {
	proxy := w.Members[member].Proxy
	proxy.Hook(func(localcluster.APICall) faultproxy.Fault {
		return faultproxy.Fault{Act: faultproxy.Answer, Status: http.StatusUnauthorized, ContentType: "application/json",
			Body: []byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","reason":"Unauthorized","code":401}`)}
	})
	proxy.CutConnections()
	w.reports(t, 0, "vmgroup_member_up")
	w.reports(t, 2*vcenters, "vmgroup_vcenter_inventory_complete")
}

func memberBack(_ *testing.T, w *world) {
	proxy := w.Members[member].Proxy
	proxy.Hook(nil)
	proxy.CutConnections()
}

func shardMapDeleted(t *testing.T, w *world) {
	before := w.reported(t.Context(), "vmgroup_sharding_epoch_generation")
	ring := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: "vmgroup-operator-ring"}}
	if err := w.Hub.Delete(t.Context(), ring); err != nil {
		t.Fatal(err)
	}
	// Each replica reports the next generation.
	w.reports(t, before+2, "vmgroup_sharding_epoch_generation")
	w.reports(t, 1, "vmgroup_sharding_leader")
}

// shardMapBack needs no action: the operator rebuilds the map.
func shardMapBack(*testing.T, *world) {}

// repairStorm destroys all VMs of a group.
func repairStorm(t *testing.T, w *world) {
	before := w.reported(t.Context(), "vmgroup_drift_total", `kind="deleted"`)
	for _, vm := range w.vmsOf(t, group) {
		if err := w.Person.Destroy(t.Context(), vm); err != nil {
			t.Fatal(err)
		}
	}
	w.reports(t, before+groupVMs, "vmgroup_drift_total", `kind="deleted"`)
}

func repaired(t *testing.T, w *world) { w.running(t, group, groupVMs) }

func replicaPaused(t *testing.T, w *world) {
	if err := w.Replicas[1].Pause(); err != nil {
		t.Fatal(err)
	}
	// The other replica takes over all buckets.
	w.reports(t, buckets, "vmgroup_sharding_owned_buckets")
	w.reports(t, 1, "vmgroup_sharding_leader")
}

func replicaContinues(t *testing.T, w *world) {
	if err := w.Replicas[1].Continue(); err != nil {
		t.Fatal(err)
	}
	// A replica that was replaced while it was paused ends; a kubelet restarts it.
	w.until(t, "the paused replica to be ready or to end", w.readyOrEnded)
	if !w.Replicas[1].Alive() {
		if err := w.Replicas[1].Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) readyOrEnded(ctx context.Context) (bool, error) {
	return !w.Replicas[1].Alive() || w.Replicas[1].Ready(ctx), nil
}
