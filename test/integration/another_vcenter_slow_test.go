//go:build unix && slow

package integration

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// TestAReferenceIsBelievedOnlyInTheVCenterThatItIsFrom replaces the vCenter behind a VCenter by one whose references
// have the same values for other objects.
func TestAReferenceIsBelievedOnlyInTheVCenterThatItIsFrom(t *testing.T) {
	const secondUUID = "2dbed6e0-0000-4000-8000-000000000002"
	w := calm.enter(t)
	sameManager(t, w)
	vcenter := func(name, uuid string) *sim.Proxy {
		process, err := w.StartVCenter(t.Context(), name, sim.Options{Templates: []string{template}, InstanceUUID: uuid})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(process.Kill)
		proxy, err := sim.NewProxy(process.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(proxy.Close)
		return proxy
	}
	first, second := vcenter("first-vcenter", ""), vcenter("second-vcenter", secondUUID)
	root := func(s *v1alpha1.VCenterSpec) { s.Folder = "twice" }
	moved, other := newVCenterAt(t, w, "moved", first, root), newVCenterAt(t, w, "other", second, root)
	p := newPlace(t, w, "team-a", "twice")
	p.apply(p.group("mover", 1, moved.of))
	p.apply(p.group("sitter", 1, other.of))
	mover, sitter := p.untilRunning("mover", 1), p.untilRunning("sitter", 1)
	if mover.Status.Folder.MoRef != sitter.Status.Folder.MoRef || mover.Status.VMs[0].MoRef != sitter.Status.VMs[0].MoRef {
		t.Fatalf("folders %s and %s, VMs %s and %s: the story says nothing", mover.Status.Folder.MoRef, sitter.Status.Folder.MoRef,
			mover.Status.VMs[0].MoRef, sitter.Status.VMs[0].MoRef)
	}

	// A VCenter without VMs can get another server. The group's folder is still recorded.
	p.patch("mover", `{"spec":{"replicas":0}}`)
	p.untilRunning("mover", 0)
	moved.until("have no VMs", func(v *v1alpha1.VCenter) bool { return v.Status.VMs == 0 })
	moved.patch(`{"spec":{"server":"` + second.URL + `"}}`)
	moved.until("be at the second vCenter", func(v *v1alpha1.VCenter) bool { return v.Status.InstanceUUID == secondUUID })
	p.patch("mover", `{"spec":{"replicas":1}}`)
	mover = p.untilRunning("mover", 1)
	if mover.Status.Folder.MoRef == sitter.Status.Folder.MoRef || mover.Status.VCenterInstanceUUID != secondUUID {
		t.Errorf("the group is in folder %s of vCenter %s; %s is another group's", mover.Status.Folder.MoRef, mover.Status.VCenterInstanceUUID, sitter.Status.Folder.MoRef)
	}

	// The VCenter is lost, and recreated with the wrong server.
	moved.makeAnew(first)
	first.Reset()
	second.Reset()
	p.untilSays("mover", v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonAnotherVCenter, secondUUID, v1alpha1.AcceptInstanceAnnotation)
	p.patch("mover", `{"spec":{"replicas":2}}`)
	p.until("see the change", "mover", func(*v1alpha1.VmGroup) bool { return true })
	if n := len(first.Changes("CloneVM_Task", "Destroy_Task")); n != 0 {
		t.Errorf("%d clones or destroys in a vCenter in which the group never was", n)
	}

	// One solution: the VCenter gets the right server.
	moved.patch(`{"spec":{"server":"` + second.URL + `"}}`)
	if again := p.untilRunning("mover", 2); again.Status.VMs[0].MoRef != mover.Status.VMs[0].MoRef {
		t.Errorf("VM %s became %s", mover.Status.VMs[0].MoRef, again.Status.VMs[0].MoRef)
	}
	if clones, destroys := len(second.Changes("CloneVM_Task")), len(second.Changes("Destroy_Task")); clones != 1 || destroys != 0 {
		t.Errorf("%d clones and %d destroys, want the one clone that was asked for", clones, destroys)
	}

	// The other one: an administrator declares the VMs lost.
	moved.makeAnew(first)
	p.untilSays("mover", v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonAnotherVCenter, v1alpha1.AcceptInstanceAnnotation)
	person, err := sim.NewOperator(t.Context(), second.URL, sim.AdminUsername, sim.AdminPassword)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(person.Close)
	if err := person.RemoveAll(t.Context(), mover.Status.Folder.Path); err != nil {
		t.Fatal(err)
	}
	first.Reset()
	second.Reset()
	var made v1alpha1.VCenter
	if err := w.Hub.Get(t.Context(), key("", moved.name), &made); err != nil {
		t.Fatal(err)
	}
	moved.patch(`{"metadata":{"annotations":{"` + v1alpha1.AcceptInstanceAnnotation + `":"` + made.Status.InstanceUUID + `"}}}`)
	last := p.until("be in the first vCenter", "mover", func(g *v1alpha1.VmGroup) bool {
		return g.Status.VCenterInstanceUUID == made.Status.InstanceUUID && g.Status.ReadyReplicas == 2
	})
	if clones := len(first.Changes("CloneVM_Task")); clones != 2 {
		t.Errorf("%d clones for %d VMs", clones, last.Status.Replicas)
	}
	if n := len(second.Changes("CloneVM_Task", "Destroy_Task")); n != 0 {
		t.Errorf("%d clones or destroys in the vCenter that was left", n)
	}
	if now := p.get("sitter"); now.Status.VMs[0].MoRef != sitter.Status.VMs[0].MoRef || now.Status.ReadyReplicas != 1 {
		t.Errorf("the other group has %+v", now.Status.VMs)
	}
}

// patch changes the VCenter.
func (v *vcenterUnderTest) patch(patch string) {
	v.t.Helper()
	vcenter := &v1alpha1.VCenter{}
	vcenter.Name = v.name
	if err := v.w.Hub.Patch(v.t.Context(), vcenter, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		v.t.Fatal(err)
	}
}

// until waits until the VCenter is as wanted.
func (v *vcenterUnderTest) until(what string, wanted func(*v1alpha1.VCenter) bool) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	vcenter := &v1alpha1.VCenter{}
	if err := await.Condition(ctx, "VCenter "+v.name+" to "+what, func(ctx context.Context) (bool, error) {
		err := v.w.Hub.Get(ctx, key("", v.name), vcenter)
		return wanted(vcenter), err
	}); err != nil {
		v.t.Fatalf("%v; status: %+v", err, vcenter.Status)
	}
}

// makeAnew removes the VCenter, which its finalizer would prevent, and creates it with the server behind a proxy, as
// when a hub is rebuilt.
func (v *vcenterUnderTest) makeAnew(server *sim.Proxy) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	vcenter := &v1alpha1.VCenter{}
	if err := v.w.Hub.Get(ctx, key("", v.name), vcenter); err != nil {
		v.t.Fatal(err)
	}
	if err := v.w.Hub.Delete(ctx, vcenter); err != nil {
		v.t.Fatal(err)
	}
	v.patch(`{"metadata":{"finalizers":null}}`)
	next := &v1alpha1.VCenter{Spec: *vcenter.Spec.DeepCopy()}
	next.Name, next.Spec.Server = v.name, server.URL
	if err := await.Condition(ctx, "VCenter "+v.name+" to be made anew", func(ctx context.Context) (bool, error) {
		err := v.w.Hub.Create(ctx, next)
		return err == nil, client.IgnoreAlreadyExists(err)
	}); err != nil {
		v.t.Fatal(err)
	}
}
