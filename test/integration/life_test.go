//go:build unix

package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAMemberThatLeavesKeepsItsGroupsAndVMsAndMayComeBack(t *testing.T) {
	w := troubled.enter(t)
	p := newPlace(t, w, "team-b", "leaving")
	p.apply(p.group("vg", 2))
	before := p.untilRunning("vg", 2)
	folder := folderOf(t, before)
	leave(t, w, "team-b")
	if err := p.cluster.Get(t.Context(), key("kube-system", "vmgroup-operator-claim"), &corev1.ConfigMap{}); err == nil {
		t.Error("the claim on the member is still there")
	}
	untilVCenterHolds(t, w, folder, 2)
	p.patch("vg", `{"spec":{"replicas":3}}`)
	joinAgain(t, w, "team-b")
	after := p.untilRunning("vg", 3)
	for i, vm := range before.Status.VMs {
		if after.Status.VMs[i].MoRef != vm.MoRef {
			t.Errorf("%s is %s, was %s: it was replaced", vm.Name, after.Status.VMs[i].MoRef, vm.MoRef)
		}
	}
}

func TestARotatedKubeconfigIsPickedUp(t *testing.T) {
	w := troubled.enter(t)
	throughProxies(t, w)
	p := newPlace(t, w, "team-b", "rotated")
	rotated, err := p.cluster.UserKubeconfig("rotated-identity", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Join(t.Context(), "team-b", rotated); err != nil {
		t.Fatal(err)
	}
	// The old kubeconfig leads through the proxy: from now on only the new one works.
	cutOff(t, p.cluster)
	p.apply(p.group("vg", 1))
	p.untilRunning("vg", 1)
	untilMember(t, w, "team-b", "True", "")
}

func TestASecondHubKeepsItsHandsOff(t *testing.T) {
	w := calm.enter(t)
	ctx := t.Context()
	second, err := w.StartHub(ctx, "second-hub", "--mass-deletion-age=0s") // groups of any age are guarded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	})
	p := newPlace(t, w, "team-a", "claimed")
	p.apply(p.group("vg", 1))
	p.untilRunning("vg", 1)

	if err := stack.JoinHub(ctx, second.Hub, "team-a", p.cluster.Kubeconfig()); err != nil {
		t.Fatal(err)
	}
	member := &v1alpha1.MemberCluster{}
	waitCtx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := await.Condition(waitCtx, "the second hub to be refused", func(ctx context.Context) (bool, error) {
		err := second.Hub.Get(ctx, key("", "team-a"), member)
		return reasonOf(member.Status.Conditions, v1alpha1.ConditionReady) == v1alpha1.ReasonClaimedByAnotherHub &&
			reasonOf(member.Status.Conditions, v1alpha1.ConditionClaimed) == v1alpha1.ReasonClaimedByAnotherHub, err
	}); err != nil {
		t.Fatalf("%v; conditions: %s", err, stack.Words(member.Status.Conditions))
	}
	// The first hub continues to serve its groups, and the second one sends its vCenter no request.
	p.patch("vg", `{"spec":{"replicas":2}}`)
	p.untilRunning("vg", 2)
	if calls := second.Proxy.Calls(); len(calls) != 0 {
		t.Errorf("the second hub called vCenter: %v", calls)
	}
	t.Run("and serves itself as a member", func(t *testing.T) { serveLocal(t, w, second) })
	t.Run("whose groups are not all deleted unasked", func(t *testing.T) { deleteMany(t, w, second) })
}

// serveLocal shows that one cluster alone is a complete installation.
func serveLocal(t *testing.T, w *world, hub *stack.SecondHub) {
	t.Helper()
	ctx := t.Context()
	if err := hub.AddVCenter(ctx, "second-hub"); err != nil {
		t.Fatal(err)
	}
	local := &v1alpha1.MemberCluster{}
	local.Name = v1alpha1.LocalMember
	if err := hub.Hub.Create(ctx, local); err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, w: w, ctx: ctx, cluster: hub.Hub, member: v1alpha1.LocalMember, namespace: "default"}
	if err := hub.Hub.Create(ctx, p.group("vg", 2)); err != nil {
		t.Fatal(err)
	}
	p.untilRunning("vg", 2)
	untilVCenterHolds(t, w, "/DC0/vm/second-hub/local/default", 2)
}

// deleteMany begins with a group of two VMs. Groups count from their first second on, to avoid a wait of an hour.
func deleteMany(t *testing.T, w *world, hub *stack.SecondHub) {
	t.Helper()
	ctx := t.Context()
	p := &place{t: t, w: w, ctx: ctx, cluster: hub.Hub, member: v1alpha1.LocalMember, namespace: "default"}
	names := []string{"vg", "vg-1", "vg-2", "vg-3", "vg-4", "vg-5"}
	for _, name := range names[1:] {
		if err := hub.Hub.Create(ctx, p.group(name, 2)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		p.untilRunning(name, 2)
	}
	for _, name := range names {
		p.delete(name)
	}
	p.untilSays("vg-3", v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeletionPending)
	hub.Manager.Kill()
	if err := hub.RestartManager(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		g := p.untilSays(name, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonMassDeletion, "kubectl annotate vmgroup "+name+" -n default ")
		if len(g.Status.Deleting) > 0 {
			t.Errorf("%s is on its way: %v", name, g.Status.Deleting)
		}
	}
	untilVCenterHolds(t, w, "/DC0/vm/second-hub", 12)
	member := &v1alpha1.MemberCluster{}
	waitCtx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := await.Condition(waitCtx, "the hub to report the number of held VMs", func(ctx context.Context) (bool, error) {
		err := hub.Hub.Get(ctx, key("", v1alpha1.LocalMember), member)
		return member.Status.HeldVMs == 12 && member.Status.HeldGroups == 6 &&
			reasonOf(member.Status.Conditions, v1alpha1.ConditionMassDeletion) == v1alpha1.ReasonRemovalsHeld, err
	}); err != nil {
		t.Fatalf("%v; %+v", err, member.Status)
	}

	p.patch("vg", `{"metadata":{"annotations":{"`+v1alpha1.ConfirmDeletionAnnotation+`":"`+string(p.get("vg").UID)+`"}}}`)
	p.untilGone("vg")
	untilVCenterHolds(t, w, "/DC0/vm/second-hub", 10)
	allowed := member.DeepCopy()
	metav1.SetMetaDataAnnotation(&allowed.ObjectMeta, v1alpha1.AllowMassDeletionAnnotation, time.Now().Add(30*time.Minute).UTC().Format(time.RFC3339))
	if err := hub.Hub.Patch(ctx, allowed, client.MergeFrom(member)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p.untilGone(name)
	}
	untilVCenterHolds(t, w, "/DC0/vm/second-hub", 0)
	if !strings.Contains(hub.Manager.Tail(2000), "A VM is destroyed") {
		t.Error("no log line about destroyed VMs")
	}
}

func TestAKilledManagerGoesOnWhereItWas(t *testing.T) {
	w := troubled.enter(t)
	p := newPlace(t, w, "team-a", "killed")
	// Counted before: all clones can have been sent when the next line runs.
	began := w.Proxy.Count("CloneVM_Task", "")
	p.apply(p.group("vg", 6))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, "the first clone to be sent", func(context.Context) (bool, error) {
		return w.Proxy.Count("CloneVM_Task", "") > began, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.Manager.Kill()
	if err := w.RestartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	folder := folderOf(t, p.untilRunning("vg", 6))
	if vms := untilVCenterHolds(t, w, folder, 6); len(vms) != 6 {
		t.Errorf("after a kill there are %s", paths(vms))
	}
	names := map[string]sim.VM{}
	for path, vm := range inVCenter(t, w, folder) {
		names[path] = vm
	}
	if len(names) != 6 {
		t.Errorf("names are not unique: %v", names)
	}
}

func TestNoPasswordAnywhere(t *testing.T) {
	w := calm.enter(t)
	ctx := t.Context()
	haystack := w.Manager.Tail(1 << 20)
	for _, c := range []*stack.Cluster{w.Hub, w.Members["team-a"], w.Members["team-b"]} {
		for _, path := range []string{
			"/apis/vm.codeconnect.vmworld.com/v1alpha1/vmgroups", "/apis/vm.codeconnect.vmworld.com/v1alpha1/vcenters",
			"/apis/vm.codeconnect.vmworld.com/v1alpha1/memberclusters", "/apis/events.k8s.io/v1/events",
		} {
			body, err := c.Raw(ctx, path)
			if err != nil {
				continue // members do not serve the hub's kinds
			}
			haystack += body
		}
	}
	if len(haystack) < 1000 {
		t.Fatal("nothing was read")
	}
	if stack.ContainsPassword(haystack) {
		t.Error("the vCenter password is in a log, an event or a status")
	}
}
