//go:build unix

package integration

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestAnEditReachesVMsOneByOneAndNothingSaysSoBefore(t *testing.T) {
	w := calm.enter(t)
	const vms = 3
	editTemplates(t, w, "edit-1", "edit-2")
	p := newPlace(t, w, "team-a", "edited")
	p.apply(p.group("vg", vms, func(g *v1alpha1.VmGroup) {
		g.Spec.Template, g.Spec.Readiness = "edit-1", &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat}
	}))
	folder := folderOf(t, p.untilRunning("vg", vms))

	g := p.group("vg", 0)
	if err := p.cluster.Patch(p.ctx, g, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"template":"edit-2"}}`))); err != nil {
		t.Fatal(err)
	}
	told, last := p.toldUntilAllIsWell(g)
	// If any part of it reports success, it is true now.
	s, now := &last.Status, inVCenter(t, w, folder)
	for _, vm := range now {
		if vm.Extra["test.template"] != "edit-2" || !vm.Heartbeat {
			t.Errorf("phase %s, message %q, and there is %+v", s.Phase, s.LastMessage, vm)
		}
	}
	if len(now) != vms || s.UpdatedReplicas != vms || s.ReadyReplicas != vms || s.Replicas != vms || s.Phase != v1alpha1.PhaseRunning {
		t.Errorf("phase %s, message %q, conditions %s: %d VMs updated, %d ready, %d counted, %d in vCenter", s.Phase, s.LastMessage, stack.Words(s.Conditions),
			s.UpdatedReplicas, s.ReadyReplicas, s.Replicas, len(now))
	}
	for _, part := range []string{"0 of 3 VMs updated; cloning vg-3.", "1 of 3 VMs updated; waiting for the guest of vg-3", "1 of 3 VMs updated; removing vg-2", "2 of 3 VMs updated;"} {
		if !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, v1alpha1.ReasonRolloutProgressing+": "+part) }) {
			t.Errorf("no report of %q, only\n%s", part, strings.Join(told, "\n"))
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

// editTemplates creates templates whose guests boot, and whose clones show their template.
func editTemplates(t *testing.T, w *world, templates ...string) {
	t.Helper()
	for _, template := range templates {
		if err := w.Person.AddTemplate(t.Context(), "/DC0/vm", template); err != nil {
			t.Fatal(err)
		}
		if err := w.Person.SetTemplate(t.Context(), "/DC0/vm/"+template, map[string]string{"test.template": template, sim.GuestBoot: "1300ms", sim.GuestShutdown: "100ms"}); err != nil {
			t.Fatal(err)
		}
	}
}

// toldUntilAllIsWell watches a group that was just edited until any part of its status reports success, and returns
// the earlier reports.
func (p *place) toldUntilAllIsWell(edited *v1alpha1.VmGroup) (told []string, last *v1alpha1.VmGroup) {
	p.t.Helper()
	watching, err := client.NewWithWatch(p.cluster.Config, client.Options{Scheme: allkinds.Scheme()})
	if err != nil {
		p.t.Fatal(err)
	}
	seen, err := watching.Watch(p.ctx, &v1alpha1.VmGroupList{}, client.InNamespace(p.namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: edited.ResourceVersion}})
	if err != nil {
		p.t.Fatal(err)
	}
	defer seen.Stop()
	for event := range seen.ResultChan() {
		g, ok := event.Object.(*v1alpha1.VmGroup)
		if !ok {
			p.t.Fatalf("the watch ended: %+v", event.Object)
		}
		s := &g.Status
		if s.ObservedGeneration != g.Generation {
			continue
		}
		ready, upToDate := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionUpToDate)
		if ready.Status != metav1.ConditionFalse || upToDate.Status != metav1.ConditionFalse || s.Phase != v1alpha1.PhasePending || !strings.HasPrefix(ready.Message, s.LastMessage) {
			return told, g
		}
		told = append(told, ready.Reason+": "+ready.Message)
	}
	p.t.Fatal("the watch ended")
	return nil, nil
}
