//go:build unix

package tenancy

import (
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

// TestAFolderThatStatusNamesIsUsedByItsOwnerAlone: the attacker's administrator writes the victim's folder into the
// status of a group.
func TestAFolderThatStatusNamesIsUsedByItsOwnerAlone(t *testing.T) {
	w := shared.enter(t)
	for name, sameFolderName := range map[string]bool{"of another name": false, "of the same name": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, w, "folder")
			a := newAttacker(t, w, "squatter", g.namespace)
			group := fresh("own")
			if sameFolderName {
				group = g.name
				a.leafOf(g)
			}
			a.joined()
			defer a.toldNothingOf(g)
			for _, step := range []struct {
				when     string
				replicas int32
			}{{"before it has a folder", 2}, {"when it has one", 3}} {
				if step.replicas == 2 {
					a.apply(group, step.replicas, true)
					a.until("it to be seen", group, func(*v1alpha1.VmGroup) bool { return true })
				}
				a.forge(group, forgedFolder(g))
				a.patch(group, `{"spec":{"paused":false}}`)
				a.scale(group, step.replicas)
				status := a.untilRunning(step.when, group, step.replicas).Status
				if own := root + "/" + a.member + "/"; status.Folder == nil || status.Folder.MoRef == g.folderRef || !strings.HasPrefix(status.Folder.Path, own) {
					t.Errorf("%s: the folder in status is %+v, want one below %s", step.when, status.Folder, own)
				}
				g.untouched(step.when)
			}
			a.untilTold("ForeignRecord", g.namespace+"/"+group, g.folder, g.folderRef)
			a.forge(group, forgedFolder(g))
			a.delete(group)
			a.untilGone(group)
			g.served("after the group is deleted")
		})
	}
}

// TestAFolderThatStatusNamesIsNotRemoved: the victim's folder is empty; only a non-empty folder is safe from
// removal with a group.
func TestAFolderThatStatusNamesIsNotRemoved(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "empty")
	g.scale(g.name, 0)
	g.untilRunning("emptied", g.name, 0)
	for _, vm := range g.present() {
		if err := w.Person.Destroy(t.Context(), vm.Path); err != nil {
			t.Fatal(err)
		}
	}
	a := newAttacker(t, w, "sweeper", g.namespace)
	a.leafOf(g)
	a.joined()
	defer a.toldNothingOf(g)
	a.apply(g.name, 1, true)
	a.until("it to be seen", g.name, func(*v1alpha1.VmGroup) bool { return true })
	a.forge(g.name, forgedFolder(g))
	a.patch(g.name, `{"spec":{"paused":false,"replicas":0}}`)
	a.delete(g.name)
	a.untilGone(g.name)
	a.untilTold("ForeignRecord", g.namespace+"/"+g.name, g.folder, g.folderRef)
	folders, err := w.Person.Folders(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(folders, g.folder) {
		t.Errorf("%s was removed with the attacker's group; left are %q", g.folder, folders)
	}
	for _, r := range w.Proxy.Records() {
		if r.Object == g.folderRef && strings.HasPrefix(r.Method, "Destroy") {
			t.Errorf("the operator called %s on the victim's folder, outcome %q", r.Method, r.Outcome)
		}
	}
	g.scale(g.name, 1)
	if status := g.untilRunning("afterwards", g.name, 1).Status; status.Folder.MoRef != g.folderRef {
		t.Errorf("the victim's folder is %+v now, was %s", status.Folder, g.folderRef)
	}
}

// leafOf gives the attacker's group of the same name a UID with which its folder has the name of the victim's.
func (a *attacker) leafOf(g *guarded) {
	a.t.Helper()
	first := string(g.get(g.name).UID[:8])
	a.Lie(func(s hostileapi.Shown) bool {
		if s.Resource == groups && s.Name == g.name {
			hostileapi.Set(s.Object, first+hostileapi.Text(s.Object, "metadata", "uid")[8:], "metadata", "uid")
		}
		return true
	})
}

func forgedFolder(g *guarded) map[string]any {
	return map[string]any{"folder": map[string]any{"moRef": g.folderRef, "path": g.folder}}
}
