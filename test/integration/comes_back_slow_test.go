//go:build unix && slow

package integration

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// bound creates a policy for the namespaces with a label of its name: a quota of VMs over all of them, and at most 4
// CPUs for each.
func bound(t *testing.T, w *world, name string, vms int32) {
	t.Helper()
	rule := &v1alpha1.VmGroupPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.VmGroupPolicySpec{
			Match:  v1alpha1.PolicyMatch{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"bound": name}}},
			Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: ptr.To[int32](4)}},
			Quota:  &v1alpha1.PolicyQuota{Scope: v1alpha1.QuotaMatch, VMs: &vms},
		},
	}
	if err := w.Hub.Create(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Hub.Delete(context.Background(), rule); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// hold creates a group that has a VM with 2 CPUs, and requests 4 after the policy was limited to 2. Its member does not
// learn that in time to reject it.
func (p *place) hold(name, policy string, change ...func(*v1alpha1.VmGroup)) {
	p.t.Helper()
	cpus := func(n int32) func(*v1alpha1.VmGroup) { return func(g *v1alpha1.VmGroup) { g.Spec.CPU = n } }
	p.apply(p.group(name, 1, append(change, cpus(2))...))
	p.untilRunning(name, 1)
	p.cluster.Proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Resource == "vmgrouplimits" && call.Writes() {
			return faultproxy.Fault{Act: faultproxy.CutBefore}
		}
		return faultproxy.Fault{}
	})
	defer p.cluster.Proxy.Hook(nil)
	rule := &v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy}}
	if err := p.w.Hub.Patch(p.ctx, rule, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"limits":{"cpu":{"max":2}}}}`))); err != nil {
		p.t.Fatal(err)
	}
	// The operator possibly does not know it yet, and would admit the request. A paused group gets no VM.
	p.apply(p.group("probe", 1, append(change, cpus(4), func(g *v1alpha1.VmGroup) { g.Spec.Paused = true })...))
	p.until("known to be beyond the policy", "probe", func(g *v1alpha1.VmGroup) bool {
		return meta.IsStatusConditionFalse(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant)
	})
	p.patch("probe", `{"spec":{"paused":false}}`)
	p.delete("probe")
	p.untilGone("probe")
	p.patch(name, `{"spec":{"cpu":4}}`)
	p.untilHeld(name)
}

// untilHeld waits until the group reports that it is held with one VM of 2 CPUs.
func (p *place) untilHeld(name string) *v1alpha1.VmGroup {
	p.t.Helper()
	return p.until("held at 2 CPUs", name, func(g *v1alpha1.VmGroup) bool {
		return reasonOf(g.Status.Conditions, v1alpha1.ConditionPolicyCompliant) == v1alpha1.ReasonPolicyViolated && g.Status.ReadyReplicas == 1 &&
			len(g.Status.VMs) == 1 && g.Status.Admitted != nil && g.Status.Admitted.CPU == 2
	})
}

// TestAMemberThatComesBackUnderAnyNameHasAllItsVMs lets a member leave and rejoin: under its name, and under another
// one with a hub administrator's approval. One of its groups counts in a quota, another is held at its former
// admission.
func TestAMemberThatComesBackUnderAnyNameHasAllItsVMs(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	const name, renamed = "comes-back", "renamed"
	v := newVCenter(t, w, name)
	cluster, err := w.StartCluster(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig, err := cluster.MemberKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	join := func(as string) {
		t.Helper()
		if err := stack.JoinHub(t.Context(), w.Hub, as, kubeconfig); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { leave(t, w, name); leave(t, w, renamed) })
	join(name)
	untilMember(t, w, name, "True", v1alpha1.ReasonEngaged)
	bound(t, w, name, 4)
	if err := cluster.Create(t.Context(), namespaceObject(name, map[string]string{"bound": name})); err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, w: w, ctx: t.Context(), cluster: cluster, member: name, namespace: name}
	p.hold("held", name, v.of)
	p.apply(p.group("counted", 2, v.of))
	counted, held := p.untilRunning("counted", 2), p.untilHeld("held")

	takenUp := func(when string) {
		t.Helper()
		for group, was := range map[string]*v1alpha1.VmGroup{"counted": counted, "held": held} {
			now := p.until(when+": to be looked after", group, func(g *v1alpha1.VmGroup) bool {
				return controllerutil.ContainsFinalizer(g, v1alpha1.VmGroupFinalizer) && g.Status.ReadyReplicas == was.Status.ReadyReplicas
			})
			for i, vm := range was.Status.VMs {
				if now.Status.VMs[i].MoRef != vm.MoRef {
					t.Errorf("%s: %s is %s, was %s", when, vm.Name, now.Status.VMs[i].MoRef, vm.MoRef)
				}
			}
		}
		p.untilHeld("held")
		v.unchanged(when)
		// The member's usage before it left counts once.
		p.patch("counted", `{"spec":{"replicas":3}}`)
		p.untilRunning("counted", 3)
		p.patch("counted", `{"spec":{"replicas":4}}`)
		p.untilSays("counted", v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded, "quota of 4 VMs")
		p.patch("counted", `{"spec":{"replicas":2}}`)
		p.untilRunning("counted", 2)
		untilVCenterHolds(t, w, "/DC0/vm/"+name, 3)
	}
	v.proxy.Reset()
	leave(t, w, name)
	join(name)
	untilMember(t, w, name, "True", v1alpha1.ReasonEngaged)
	takenUp("under its name")

	v.proxy.Reset()
	leave(t, w, name)
	join(renamed)
	uid := uidOf(t, cluster)
	untilMember(t, w, renamed, "False", v1alpha1.ReasonKnownByAnotherName, `"`+name+`"`, "kubectl annotate membercluster renamed "+v1alpha1.TakeClusterUIDAnnotation+"="+uid)
	v.unchanged("before the administrator's word")
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: renamed}}
	patch(t, w.Hub, mc, `{"metadata":{"annotations":{"`+v1alpha1.TakeClusterUIDAnnotation+`":"`+uid+`"}}}`)
	untilMember(t, w, renamed, "True", v1alpha1.ReasonEngaged)
	p.member = renamed
	takenUp("under another name")

	// A lost VM is recreated as it was admitted under the former name.
	if err := w.Person.Destroy(t.Context(), folderOf(t, held)+"/held-0"); err != nil {
		t.Fatal(err)
	}
	again := p.until("the lost VM to be replaced", "held", func(g *v1alpha1.VmGroup) bool {
		return len(g.Status.VMs) == 1 && g.Status.ReadyReplicas == 1 && g.Status.VMs[0].MoRef != held.Status.VMs[0].MoRef
	})
	if vm := inVCenter(t, w, folderOf(t, again))[folderOf(t, again)+"/held-0"]; vm.CPU != 2 {
		t.Errorf("it came back as %+v, want 2 CPUs", vm)
	}
}
