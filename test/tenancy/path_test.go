//go:build unix

package tenancy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
)

// TestAGroupThatIsDeletedInANamespaceThatIsAPathRemovesNoFolder: the attacker's API server shows a group of namespace
// ../victim/<namespace> that is being deleted, with the victim's folder in its status. The folder is empty; only a
// non-empty folder is safe from removal with a group.
func TestAGroupThatIsDeletedInANamespaceThatIsAPathRemovesNoFolder(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "path")
	g.emptied()
	a := newAttacker(t, w, "climber", g.namespace)
	defer a.toldNothingOf(g)
	a.joined()
	o := a.climbing(g, types.UID(g.firstOfUID()+string(uuid.NewUUID())[8:]))
	hostileapi.Set(o, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	hostileapi.Set(o, hostileapi.Object{"observedGeneration": 1, "vcenter": "default", "folder": forgedFolder(g)["folder"]}, "status")
	a.Invent(groups, o)
	defer g.keepsItsFolder()
	a.untilItSays(v1alpha1.ReasonLimitExceeded, `has the namespace "../`+victim)
}

// TestAGroupInANamespaceThatIsAPathGetsNoVM: the attacker's API server shows a group of namespace
// ../victim/<namespace>. Its status is the one that the operator wrote for a group of the attacker with the same UID,
// with the victim's folder in it. The operator has written to that group a moment ago.
func TestAGroupInANamespaceThatIsAPathGetsNoVM(t *testing.T) {
	w := shared.enter(t)
	g := newGuarded(t, w, "path")
	g.emptied()
	a := newAttacker(t, w, "climber", g.namespace)
	a.leafOf(g)
	defer a.toldNothingOf(g)
	a.joined()
	a.apply(g.name, 1, false)
	a.untilRunning("its own", g.name, 1)
	own := a.get(g.name)
	a.scale(g.name, 0)
	a.untilRunning("its own, without a VM", g.name, 0)
	o := a.climbing(g, types.UID(g.firstOfUID()+string(own.UID[8:])))
	status := a.firstStatusOf(g.name)
	status["folder"] = forgedFolder(g)["folder"]
	hostileapi.Set(o, "9000000000000000000", "metadata", "resourceVersion") // later than the operator's write to the other group
	hostileapi.Set(o, own.Spec, "spec")
	hostileapi.Set(o, status, "status")
	defer a.rewritten(g.name)()
	a.Invent("namespaces", hostileapi.Object{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
		"metadata": hostileapi.Object{"name": hostileapi.Text(o, "metadata", "namespace"), "uid": string(uuid.NewUUID()), "labels": hostileapi.Object{"a": "b"}},
	})
	a.Invent(groups, o)
	defer g.keepsItsFolder()
	a.untilItSays(v1alpha1.ReasonLimitExceeded, `the name`, `"../`+victim)
}

// emptied removes everything from the folder of the group.
func (g *guarded) emptied() {
	g.t.Helper()
	g.scale(g.name, 0)
	g.untilRunning("emptied", g.name, 0)
	for _, vm := range g.present() {
		if err := g.w.Person.Destroy(g.t.Context(), vm.Path); err != nil {
			g.t.Fatal(err)
		}
	}
	g.kept = map[string]kept{}
}

// keepsItsFolder fails if the folder of the group does not exist, or is not empty, or if the group is not served in it.
func (g *guarded) keepsItsFolder() {
	g.t.Helper()
	for ref, vm := range g.present() {
		g.t.Errorf("%s (%s) was put into the victim's folder", vm.Path, ref)
	}
	folders, err := g.w.Person.Folders(g.t.Context(), root)
	if err != nil {
		g.t.Fatal(err)
	}
	if !slices.Contains(folders, g.folder) {
		g.t.Errorf("%s was removed; left are %q", g.folder, folders)
	}
	for _, r := range g.w.Proxy.Records() {
		if r.Object == g.folderRef && strings.HasPrefix(r.Method, "Destroy") {
			g.t.Errorf("the operator called %s on the victim's folder, outcome %q", r.Method, r.Outcome)
		}
	}
	g.scale(g.name, 1)
	if status := g.untilRunning("afterwards", g.name, 1).Status; status.Folder.MoRef != g.folderRef {
		g.t.Errorf("the victim's folder is %+v now, was %s", status.Folder, g.folderRef)
	}
}

// firstOfUID is the part of the UID in the folder's name.
func (g *guarded) firstOfUID() string { return g.folder[len(g.folder)-8:] }

// climbing is an invented group whose namespace leads from the attacker's folder into that of the victim.
func (a *attacker) climbing(g *guarded, uid types.UID) hostileapi.Object {
	o := a.invention(g.name, uid, 1)
	hostileapi.Set(o, "../"+victim+"/"+g.namespace, "metadata", "namespace")
	hostileapi.Set(o, []any{v1alpha1.VmGroupFinalizer}, "metadata", "finalizers")
	return o
}

// firstStatusOf is the first status that the operator wrote for a group: with the intent to clone.
func (a *attacker) firstStatusOf(name string) map[string]any {
	a.t.Helper()
	for _, r := range a.proxy.Records() {
		var patch struct {
			Status map[string]any `json:"status"`
		}
		if r.Resource != groups || r.Name != name || r.Verb != "patch" || json.Unmarshal(r.Body, &patch) != nil || patch.Status["vms"] == nil {
			continue
		}
		return patch.Status
	}
	a.t.Fatal("the operator wrote no status with VMs")
	return nil
}

// rewritten makes the operator write the status of a real group repeatedly, until stop is called.
func (p *place) rewritten(name string) (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(300 * time.Millisecond)
		defer ticker.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			patch := fmt.Sprintf(`{"status":{"lastMessage":"%d"}}`, n)
			_ = p.cluster.Status().Patch(ctx, p.object(name), client.RawPatch(types.MergePatchType, []byte(patch))) // the next one compensates for a failed one
			select {
			case <-ctx.Done():
			case <-ticker.C:
			}
		}
	}()
	return func() { cancel(); <-ended }
}
