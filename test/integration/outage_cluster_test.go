//go:build unix

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// The stories of this file take down the API server of a whole member or of the hub, so their world is the troubled
// one: others would lose it as well.

func TestOutageAnUnreachableMemberKeepsItsVMsUntilItAnswersAgain(t *testing.T) {
	w := troubled.enter(t)
	sameManager(t, w)
	throughProxies(t, w)
	v := newVCenter(t, w, "cut-member")
	p := newPlace(t, w, "team-b", "cut")
	p.apply(p.group("grows", 2, v.of))
	p.apply(p.group("goes", 2, v.of))
	grows := p.untilRunning("grows", 2)
	p.untilRunning("goes", 2)

	back := cutOff(t, p.cluster)
	v.proxy.Reset()
	// The operator cannot receive these changes, nor store the state that it must store before it acts.
	p.patch("grows", `{"spec":{"replicas":3}}`)
	p.delete("goes")
	if err := w.Person.Destroy(t.Context(), folderOf(t, grows)+"/grows-1"); err != nil {
		t.Fatal(err)
	}
	untilMember(t, w, p.member, "False", v1alpha1.ReasonMemberUnreachable, p.cluster.Proxy.URL, "stay as they are")
	othersAreServed(t, w, "team-a", "cut-others")
	v.neitherMadeNorDestroyed("while the member is unreachable")

	back()
	untilMember(t, w, p.member, "True", "")
	again := p.untilRunning("grows", 3)
	p.untilGone("goes")
	untilVCenterHolds(t, w, "/DC0/vm/cut-member", 3)
	if again.Status.VMs[0].MoRef != grows.Status.VMs[0].MoRef {
		t.Errorf("grows-0 is %s, was %s: it was replaced", again.Status.VMs[0].MoRef, grows.Status.VMs[0].MoRef)
	}
	v.oneSession()
}

// TestOutageAMemberWhoseWatchesStall: reads, writes and health checks work, but no event arrives, so the cache becomes
// outdated without any error.
func TestOutageAMemberWhoseWatchesStallIsNotActedOnByWhatWasOnceSeen(t *testing.T) {
	w := troubled.enter(t)
	sameManager(t, w)
	throughProxies(t, w)
	v := newVCenter(t, w, "stalled")
	p := newPlace(t, w, "team-b", "stalled")
	p.apply(p.group("grows", 1, v.of))
	p.apply(p.group("shrinks", 2, v.of))
	p.apply(p.group("namesake", 2, v.of))
	grows, shrinks, old := p.untilRunning("grows", 1), p.untilRunning("shrinks", 2), p.untilRunning("namesake", 2)

	t.Cleanup(func() {
		// The VCenter's deletion waits for the objects that a user removed from the operator's control.
		if err := w.Person.Destroy(context.WithoutCancel(t.Context()), folderOf(t, old)+"/namesake-0"); err != nil {
			t.Error(err)
		}
	})

	caughtUp(p)
	proxy := p.cluster.Proxy
	proxy.StallWatches(true)
	t.Cleanup(func() { proxy.StallWatches(false) })
	proxy.Reset()
	v.proxy.Reset()
	p.patch("grows", `{"spec":{"replicas":3}}`)
	p.patch("shrinks", `{"spec":{"replicas":1}}`)
	renamesake(t, p, old, v)
	// vCenter's own events make the operator reconcile its cached groups: each lacks a VM.
	for _, vm := range []string{folderOf(t, shrinks) + "/shrinks-1", folderOf(t, old) + "/namesake-1"} {
		if err := w.Person.Destroy(t.Context(), vm); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"shrinks", "namesake"} {
		untilRefused(t, proxy, p.namespace, name, 2)
	}
	v.neitherMadeNorDestroyed("while watches stall")
	othersAreServed(t, w, "team-a", "stalled-others")

	proxy.StallWatches(false)
	grown, shrunk, again := p.untilRunning("grows", 3), p.untilRunning("shrinks", 1), p.untilRunning("namesake", 1)
	for _, same := range [][2]*v1alpha1.VmGroup{{grows, grown}, {shrinks, shrunk}} {
		if was, is := same[0].Status.VMs[0].MoRef, same[1].Status.VMs[0].MoRef; was != is {
			t.Errorf("%s-0 is %s, was %s: it was replaced", same[0].Name, is, was)
		}
	}
	if again.UID == old.UID || folderOf(t, again) == folderOf(t, old) {
		t.Errorf("the namesake has folder %s, as the group before it", folderOf(t, again))
	}
	// Its finalizer was removed by hand: the operator must not delete its remains.
	untilVCenterHolds(t, w, folderOf(t, old), 1)
	untilVCenterHolds(t, w, "/DC0/vm/stalled", 3+1+1+1)
	if n := v.done("CloneVM_Task"); n != 3 {
		t.Errorf("%d clones, want 2 for grows and 1 for the namesake", n)
	}
	v.oneSession()
}

// caughtUp waits until the operator has received all writes to the member so far, including its own: it acts on no
// group before it has its own last write back. Events come in order, and a group that it has reconciled was an event.
func caughtUp(p *place) {
	p.t.Helper()
	p.apply(p.group("last", 1, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = "nowhere" }))
	p.untilSays("last", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonVCenterNotFound)
}

// renamesake deletes a group, removes its finalizer by hand and creates another group of its name with one replica.
func renamesake(t *testing.T, p *place, old *v1alpha1.VmGroup, v *vcenterUnderTest) {
	t.Helper()
	p.delete(old.Name)
	last := p.get(old.Name)
	base := last.DeepCopy()
	controllerutil.RemoveFinalizer(last, v1alpha1.VmGroupFinalizer)
	if err := p.cluster.Patch(t.Context(), last, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	p.untilGone(old.Name)
	p.apply(p.group(old.Name, 1, v.of))
}

// untilRefused waits until the API server rejected n writes for a group because its UID or version differs from the
// operator's.
func untilRefused(t *testing.T, proxy *localcluster.APIProxy, namespace, name string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, "writes for "+name+" to be refused", func(context.Context) (bool, error) {
		refused := 0
		for _, r := range proxy.Records() {
			if r.Namespace == namespace && r.Name == name && r.Resource == "vmgroups" && r.Status == http.StatusConflict {
				refused++
			}
		}
		return refused >= n, nil
	}); err != nil {
		records := proxy.Records()
		all := make([]string, 0, len(records))
		for _, r := range records {
			all = append(all, fmt.Sprintf("%s %s/%s %s: %d", r.Verb, r.Resource, r.Subresource, r.Name, r.Status))
		}
		t.Fatalf("%v; writes: %s", err, strings.Join(all, ", "))
	}
}

func TestOutageARestartedHubStopsEverythingAndDisturbsNothing(t *testing.T) {
	w := troubled.enter(t)
	sameManager(t, w)
	throughProxies(t, w)
	v := newVCenter(t, w, "hubless")
	p := newPlace(t, w, "team-a", "hubless")
	p.apply(p.group("vg", 2, v.of))
	before := p.untilRunning("vg", 2)

	// Without the hub no replica can know whether it can act, so soon none does, and existing VMs stay.
	up := stopHub(t, w)
	untilIdle(t, w)
	v.proxy.Reset()
	p.patch("vg", `{"spec":{"replicas":3}}`)
	p.apply(p.group("new", 1, v.of))
	staysUnchanged(t, v, "while the hub is unreachable")

	up()
	p.untilRunning("vg", 3)
	p.untilRunning("new", 1)
	p.patch("vg", `{"spec":{"replicas":2}}`)
	p.untilRunning("vg", 2)
	othersAreServed(t, w, "team-b", "hubless-others")
	if clones, destroys := v.done("CloneVM_Task"), v.done("Destroy_Task"); clones != 2 || destroys != 1 {
		t.Errorf("%d clones and %d destroys after the hub was back, want what was asked for", clones, destroys)
	}
	// The hub's own objects are watched again: a group waits for a VCenter that is created now.
	late := newVCenter(t, w, "after-restart")
	p.apply(p.group("late", 1, late.of))
	p.untilRunning("late", 1)
	after := p.untilRunning("vg", 2)
	for i := range after.Status.VMs {
		if after.Status.VMs[i].MoRef != before.Status.VMs[i].MoRef {
			t.Errorf("%s was replaced", after.Status.VMs[i].Name)
		}
	}
	for name := range w.Members {
		untilMember(t, w, name, "True", "")
	}
	v.oneSession()
}

// untilIdle waits until the manager has noticed that it must not act. The log includes earlier managers.
func untilIdle(t *testing.T, w *world) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, "the manager to stop acting", func(context.Context) (bool, error) {
		log, err := os.ReadFile(w.Manager.Log)
		last := func(message string) int { return bytes.LastIndex(log, []byte(`"msg":"`+message)) }
		return last("The session could not be renewed") > max(last("The session was renewed"), last(`Starting"`)), err
	}); err != nil {
		t.Fatal(err)
	}
}

// staysUnchanged checks for a while that vCenter receives no change.
func staysUnchanged(t *testing.T, v *vcenterUnderTest, during string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_ = await.Condition(ctx, "a change", func(context.Context) (bool, error) { return len(v.proxy.Records()) > 0, nil })
	v.unchanged(during)
}

// cutOff cuts all connections of the manager to a cluster until the returned function is called.
func cutOff(t *testing.T, c *stack.Cluster) (back func()) {
	t.Helper()
	c.Proxy.Hook(func(localcluster.APICall) faultproxy.Fault { return faultproxy.Fault{Act: faultproxy.CutBefore} })
	c.Proxy.CutConnections()
	back = func() { c.Proxy.Hook(nil) }
	t.Cleanup(back)
	return back
}

// stopHub ends the hub's API server until the returned function is called.
func stopHub(t *testing.T, w *world) (up func()) {
	t.Helper()
	w.Hub.KillAPIServer()
	down := true
	up = func() {
		if !down {
			return
		}
		down = false
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := w.Hub.StartAPIServer(ctx); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(up)
	return up
}
