//go:build unix

package integration

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAnEditReachesVMsOneByOneAndNothingSaysSoBefore(t *testing.T) {
	w := calm.enter(t)
	const vms = 3
	for _, template := range []string{"edit-1", "edit-2"} {
		if err := w.Person.AddTemplate(t.Context(), "/DC0/vm", template); err != nil {
			t.Fatal(err)
		}
		if err := w.Person.SetTemplate(t.Context(), "/DC0/vm/"+template, map[string]string{"test.template": template, sim.GuestBoot: "1300ms", sim.GuestShutdown: "100ms"}); err != nil {
			t.Fatal(err)
		}
	}
	p := newPlace(t, w, "team-a", "edited")
	p.apply(p.group("vg", vms, func(g *v1alpha1.VmGroup) {
		g.Spec.Template, g.Spec.Readiness = "edit-1", &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat}
	}))
	folder := folderOf(t, p.untilRunning("vg", vms))
	watching, err := client.NewWithWatch(p.cluster.Config, client.Options{Scheme: allkinds.Scheme()})
	if err != nil {
		t.Fatal(err)
	}

	g := p.group("vg", 0)
	if err := p.cluster.Patch(p.ctx, g, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"template":"edit-2"}}`))); err != nil {
		t.Fatal(err)
	}
	seen, err := watching.Watch(p.ctx, &v1alpha1.VmGroupList{}, client.InNamespace(p.namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: g.ResourceVersion}})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Stop()
	told := toldUntilUpdated(t, w, seen.ResultChan(), folder, vms)
	for _, part := range []string{"0 of 3 VMs updated; cloning vg-3.", "1 of 3 VMs updated; waiting for the guest of vg-3", "1 of 3 VMs updated; removing vg-2", "2 of 3 VMs updated;"} {
		if !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, v1alpha1.ReasonRolloutProgressing+": "+part) }) {
			t.Errorf("nothing was told of %q, only\n%s", part, strings.Join(told, "\n"))
		}
	}
	order := ""
	for _, r := range w.Proxy.Changes("CloneVM_Task", "Destroy_Task") {
		if r.Group == string(g.UID) {
			order += r.Method[:1]
		}
	}
	if order != "CCCCDCDCD" {
		t.Errorf("clones and destructions came in the order %s", order)
	}
}

// toldUntilUpdated reads a group's statuses up to the first one that says of anything that all is well. It is so then, as vCenter has it. It returns
// what those before said.
func toldUntilUpdated(t *testing.T, w *world, seen <-chan watch.Event, folder string, vms int) (told []string) {
	t.Helper()
	for event := range seen {
		g, ok := event.Object.(*v1alpha1.VmGroup)
		if !ok {
			t.Fatalf("the watch ended: %+v", event.Object)
		}
		s := &g.Status
		ready, upToDate := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionUpToDate)
		if s.ObservedGeneration != g.Generation {
			continue
		}
		if ready.Status == metav1.ConditionFalse && upToDate.Status == metav1.ConditionFalse && s.Phase == v1alpha1.PhasePending && s.LastMessage == ready.Message {
			told = append(told, ready.Reason+": "+ready.Message)
			continue
		}
		now := inVCenter(t, w, folder)
		for _, vm := range now {
			if vm.Extra["test.template"] != "edit-2" || !vm.Heartbeat {
				t.Errorf("phase %s, message %q, and there is %+v", s.Phase, s.LastMessage, vm)
			}
		}
		if n := int32(vms); len(now) != vms || s.UpdatedReplicas != n || s.ReadyReplicas != n || s.Replicas != n || s.Phase != v1alpha1.PhaseRunning {
			t.Errorf("phase %s, message %q, conditions %s: %d VMs updated, %d ready, %d counted, %d in vCenter", s.Phase, s.LastMessage, words(s.Conditions),
				s.UpdatedReplicas, s.ReadyReplicas, s.Replicas, len(now))
		}
		return told
	}
	t.Fatal("the watch ended before all VMs were updated")
	return nil
}
