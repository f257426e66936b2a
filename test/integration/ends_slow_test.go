//go:build unix && slow

package integration

import (
	"context"
	"testing"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestARestartWhileTheLastVMsAreDestroyedRaisesNoAlarm(t *testing.T) {
	w := troubled.enter(t)
	v := newVCenter(t, w, "last-vms")
	p := newPlace(t, w, "team-a", "last-vms")
	p.apply(p.group("vg", 3, v.of))
	folder := folderOf(t, p.untilRunning("vg", 3))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	vcenter := &v1alpha1.VCenter{}
	if err := await.Condition(ctx, "the VMs to be counted", func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, key("", v.name), vcenter)
		return vcenter.Status.VMs == 3, err
	}); err != nil {
		t.Fatal(err)
	}
	// The manager's last request is executed after its end, when it does not update counts any more.
	v.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method == "Destroy_Task" {
			return faultproxy.Fault{Act: faultproxy.Hang}
		}
		return faultproxy.Fault{}
	})
	p.delete("vg")
	if err := await.Condition(ctx, "the VMs to be destroyed", func(context.Context) (bool, error) {
		return v.proxy.Count("Destroy_Task", "") > 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	w.Manager.Kill()
	v.proxy.Hook(nil)
	for path := range inVCenter(t, w, folder) {
		if err := w.Person.Destroy(ctx, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.RestartManager(ctx); err != nil {
		t.Fatal(err)
	}
	p.untilGone("vg")
	var told eventsv1.EventList
	if err := w.Hub.List(ctx, &told); err != nil {
		t.Fatal(err)
	}
	for _, e := range told.Items {
		if e.Regarding.Name == v.name && e.Reason == v1alpha1.ReasonInventorySuddenlyEmpty {
			t.Errorf("false alarm: %s", e.Note)
		}
	}
}
