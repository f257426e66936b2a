//go:build unix

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// TestASwapOfTheConnectionForgetsNoClone changes a VCenter's spec, which opens another connection, while groups are
// created and deleted: none of their objects can be left.
func TestASwapOfTheConnectionForgetsNoClone(t *testing.T) {
	w := calm.enter(t)
	var standard v1alpha1.VCenter
	if err := w.Hub.Get(t.Context(), key("", "default"), &standard); err != nil {
		t.Fatal(err)
	}
	vcenter := &v1alpha1.VCenter{Spec: *standard.Spec.DeepCopy()}
	vcenter.Name, vcenter.Spec.Folder = "swapped", "swapped"
	if err := w.Hub.Create(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, w, "team-a", "swapped")
	on := func(g *v1alpha1.VmGroup) { g.Spec.VCenter = "swapped" }
	p.apply(p.group("keeper", 1, on))
	keeper := p.untilRunning("keeper", 1)
	for round := range 4 {
		patch := fmt.Sprintf(`{"spec":{"inventory":{"pollSeconds":%d}}}`, 100+round)
		if err := w.Hub.Patch(t.Context(), vcenter, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			g := p.group(fmt.Sprintf("vg-%d-%d", round, i), 2, on)
			if err := p.cluster.Create(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			// Deleted right after a decision, so that clones are in flight.
			if err := await.Condition(ctx, g.Name+" to be worked on", func(ctx context.Context) (bool, error) {
				err := p.cluster.Get(ctx, key(p.namespace, g.Name), g)
				return len(g.Status.VMs) > 0, err
			}); err != nil {
				t.Fatal(err)
			}
			cancel()
			p.delete(g.Name)
		}
	}
	for round := range 4 {
		for i := range 6 {
			p.untilGone(fmt.Sprintf("vg-%d-%d", round, i))
		}
	}
	left := untilVCenterHolds(t, w, "/DC0/vm/swapped", 1)
	if again := p.untilRunning("keeper", 1); again.Status.VMs[0].MoRef != keeper.Status.VMs[0].MoRef {
		t.Errorf("the keeper's VM was replaced; there are %s", paths(left))
	}
}

// TestNewSettingsOfAVCenterThatDoNotWorkAreToldAndTheFormerServe: after the next restart, only the new ones count.
func TestNewSettingsOfAVCenterThatDoNotWorkAreToldAndTheFormerServe(t *testing.T) {
	w := calm.enter(t)
	v := newVCenter(t, w, "mistaken")
	p := newPlace(t, w, "team-a", "mistaken")
	p.apply(p.group("web", 1, v.of))
	p.untilRunning("web", 1)
	var before v1alpha1.VCenter
	if err := w.Hub.Get(t.Context(), key("", v.name), &before); err != nil {
		t.Fatal(err)
	}
	server := strings.TrimSuffix(v.proxy.URL, "/sdk")
	if before.Status.Server != server {
		t.Errorf("status.server is %q, connected to %q", before.Status.Server, server)
	}
	used := "The connection to " + server + " that was made with the former ones is still used"
	edit := func(patch string) {
		t.Helper()
		if err := w.Hub.Patch(t.Context(), before.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	edit(`{"spec":{"server":"http://127.0.0.1:9"}}`) // no server listens there
	v.untilSays(v1alpha1.ConditionReady, "False", v1alpha1.ReasonUnreachable, "127.0.0.1:9", used)
	edit(fmt.Sprintf(`{"spec":{"server":%q,"datacenter":"Nope"}}`, before.Spec.Server))
	v.untilSays(v1alpha1.ConditionReady, "False", v1alpha1.ReasonInvalidConfiguration, `"Nope"`, used)
	p.patch("web", `{"spec":{"replicas":2}}`)
	p.untilRunning("web", 2)
	edit(`{"spec":{"datacenter":null}}`)
	v.untilSays(v1alpha1.ConditionReady, "True", v1alpha1.ReasonConnected)
}

// TestARootFolderThatWasRenamedIsUsedByTheNextConnection: any event that opens another connection, here an edit,
// found an empty folder by the old name.
func TestARootFolderThatWasRenamedIsUsedByTheNextConnection(t *testing.T) {
	w := calm.enter(t)
	v := newVCenter(t, w, "renamed")
	p := newPlace(t, w, "team-a", "renamed")
	p.apply(p.group("web", 2, v.of))
	before := p.untilRunning("web", 2)
	if err := w.Person.RenameFolder(t.Context(), "/DC0/vm/renamed", "renamed-old"); err != nil {
		t.Fatal(err)
	}
	vcenter := &v1alpha1.VCenter{}
	vcenter.Name = v.name
	if err := w.Hub.Patch(t.Context(), vcenter, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"inventory":{"pollSeconds":101}}}`))); err != nil {
		t.Fatal(err)
	}
	v.untilSays(v1alpha1.ConditionPlaceUncertain, "True", v1alpha1.ReasonRootFolderRenamed, `set spec.folder to "renamed-old"`)
	v.untilSays(v1alpha1.ConditionReady, "True", v1alpha1.ReasonConnected)
	p.patch("web", `{"spec":{"replicas":3}}`)
	after := p.untilRunning("web", 3)
	if after.Status.VMs[0].MoRef != before.Status.VMs[0].MoRef {
		t.Error("a VM was made anew")
	}
	untilVCenterHolds(t, w, "/DC0/vm/renamed-old", 3)
}
