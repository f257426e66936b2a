//go:build unix && slow

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

func TestRestoreOfTheHubEndsTheManagerAndKeepsEveryVM(t *testing.T) { restoreHub(t, 0) }

func TestRestoreOfTheHubWithARevisionBumpKeepsEveryVM(t *testing.T) { restoreHub(t, bump) }

// restoreHub restores the hub to a time before a VM was replaced and a group grew under a quota, which then counts the
// existing VMs. Another group is held at its former admission.
func restoreHub(t *testing.T, bump int) {
	w := troubled.enter(t)
	throughProxies(t, w)
	name := fmt.Sprintf("restored-hub-%d", bump)
	v := newVCenter(t, w, name)
	p := newPlace(t, w, "team-a", name, "bound", name)
	bound(t, w, name, 6)
	p.hold("held", name, v.of)
	held := p.untilHeld("held")
	p.apply(p.group("heals", 2, v.of))
	p.apply(p.group("grows", 1, v.of))
	heals := p.untilRunning("heals", 2)
	p.untilRunning("grows", 1)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := w.Hub.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := w.Person.Destroy(t.Context(), folderOf(t, heals)+"/heals-1"); err != nil {
		t.Fatal(err)
	}
	healed := p.until("the lost VM to be replaced", "heals", func(g *v1alpha1.VmGroup) bool {
		return stack.IsReady(g.Status.Conditions) && len(g.Status.VMs) == 2 && g.Status.VMs[1].MoRef != heals.Status.VMs[1].MoRef
	})
	p.patch("grows", `{"spec":{"replicas":2}}`)
	grown := p.untilRunning("grows", 2)
	was := w.Manager
	manyWrites(t, w)
	untilLookedAt(t, w.Hub.Proxy, "memberclusters")
	v.proxy.Reset()
	if err := w.Hub.Restore(t.Context(), backup, bump); err != nil {
		t.Fatal(err)
	}
	if bump == 0 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		select {
		case <-was.Done():
		case <-ctx.Done():
			t.Fatal("the manager continues with state from before the restore")
		}
		if last := was.Tail(5); !strings.Contains(last, "etcd came back from a backup") || !strings.Contains(last, "docs/runbooks/restore.md") {
			t.Errorf("the manager's last log lines lack the reason for its end:\n%s", last)
		}
		if err := w.RestartManager(t.Context()); err != nil { // Kubernetes does this
			t.Fatal(err)
		}
	}
	running := w.Manager
	// Changes in a member are processed although the hub has no writes, whose events would wake a waiter for old ones.
	p.patch("grows", `{"spec":{"replicas":3}}`)
	again := p.untilRunning("grows", 3)
	// Changes on the hub are processed at once.
	pauseMember(t, w, p.member, true)
	p.untilSays("grows", v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady, "is paused on the hub")
	pauseMember(t, w, p.member, false)
	for i, vm := range grown.Status.VMs {
		if again.Status.VMs[i].MoRef != vm.MoRef {
			t.Errorf("%s is %s, was %s", vm.Name, again.Status.VMs[i].MoRef, vm.MoRef)
		}
	}
	kept := p.untilRunning("heals", 2)
	for i, vm := range healed.Status.VMs {
		if kept.Status.VMs[i].MoRef != vm.MoRef {
			t.Errorf("%s is %s, was %s", vm.Name, kept.Status.VMs[i].MoRef, vm.MoRef)
		}
	}
	if now := p.untilHeld("held").Status.VMs[0].MoRef; now != held.Status.VMs[0].MoRef {
		t.Errorf("the VM of the group that is held is %s, was %s", now, held.Status.VMs[0].MoRef)
	}
	p.apply(p.group("late", 1, v.of))
	p.untilSays("late", v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded, "quota of 6 VMs")
	if clones, destroys := v.done("CloneVM_Task"), v.done("Destroy_Task"); clones != 1 || destroys != 0 {
		t.Errorf("%d clones and %d destroys, want 1 and none", clones, destroys)
	}
	untilVCenterHolds(t, w, "/DC0/vm/"+name, 6)
	select {
	case <-running.Done():
		t.Errorf("the manager ended; its last words:\n%s", running.Tail(20))
	default:
	}
}

// manyWrites raises the hub's revision further than its replicas do in the minute until the next check: a backup is
// older than that.
func manyWrites(t *testing.T, w *world) {
	t.Helper()
	written := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "written-often"}}
	if err := w.Hub.Create(t.Context(), written); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		if err := w.Hub.Patch(t.Context(), written, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n))); err != nil {
			t.Fatal(err)
		}
	}
}

func pauseMember(t *testing.T, w *world, member string, paused bool) {
	t.Helper()
	mc := &v1alpha1.MemberCluster{}
	mc.Name = member
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"paused":%v}}`, paused))
	if err := w.Hub.Patch(t.Context(), mc, patch); err != nil {
		t.Fatal(err)
	}
}
