//go:build unix

package tenancy

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// guarded is a group of the victim. Only its own spec can change its VMs, and its data must not be disclosed. Its
// folder also contains a user's VM, whose name no other group can have by chance.
type guarded struct {
	*place
	name     string
	replicas int32
	// folder is the path of its folder, folderRef the reference.
	folder, folderRef string
	// kept are the VMs in the folder that must stay unchanged, by reference.
	kept map[string]kept
	// secrets are expressions for data that must not be disclosed.
	secrets map[string]*regexp.Regexp
}

// kept is a VM after all its requested changes.
type kept struct {
	sim.VM
	// since is the number of changing calls by then.
	since int
}

func newGuarded(t *testing.T, w *world, story string) *guarded {
	t.Helper()
	namespace := fresh(story)
	newPlace(t, w, attackers, namespace) // for groups of the same namespace and name
	g := &guarded{
		place: newPlace(t, w, victim, namespace), name: fresh("db"), replicas: 2,
		kept: map[string]kept{}, secrets: map[string]*regexp.Regexp{},
	}
	g.apply(g.name, g.replicas, false)
	status := g.untilRunning("at first", g.name, g.replicas).Status
	g.folder, g.folderRef = status.Folder.Path, status.Folder.MoRef
	if !strings.HasPrefix(g.folder, root+"/"+victim+"/") {
		t.Fatalf("the victim's folder is %s", g.folder)
	}
	crown := fresh("crown-jewels")
	if _, err := w.Person.CreateVM(t.Context(), g.folder, crown); err != nil {
		t.Fatal(err)
	}
	g.until("the VM of a person to be seen", g.name, func(now *v1alpha1.VmGroup) bool { return strings.Contains(stack.Words(now.Status.Conditions), crown) })
	for _, secret := range []string{crown, g.folderRef, victim + "/" + namespace} {
		g.hide(secret)
	}
	g.keep("at first")
	return g
}

// hide marks a word as secret.
func (g *guarded) hide(secret string) {
	g.secrets[secret] = regexp.MustCompile(`\b` + regexp.QuoteMeta(secret) + `\b`)
}

// present are the VMs in the folder, by reference.
func (g *guarded) present() map[string]sim.VM {
	g.t.Helper()
	all, err := g.w.Person.VMs(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	present := map[string]sim.VM{}
	for path, vm := range all {
		if strings.HasPrefix(path, g.folder+"/") {
			present[vm.Ref.Value] = vm
		}
	}
	return present
}

// keep marks the current VMs as unchangeable.
func (g *guarded) keep(when string) {
	g.t.Helper()
	present := g.present()
	since := len(g.w.Proxy.Records())
	for ref, vm := range present {
		if _, ok := g.kept[ref]; !ok {
			g.kept[ref] = kept{vm, since}
			g.hide(ref)
		}
	}
	if want := int(g.replicas) + 1; len(present) != want {
		g.t.Errorf("%s: %d VMs are in the folder, want %d: those of the group and a person's", when, len(present), want)
	}
}

// untouched fails if a VM changed, if there is another one in the folder, or if the operator tried to change one.
func (g *guarded) untouched(when string) {
	g.t.Helper()
	present := g.present()
	for ref, was := range g.kept {
		if is, ok := present[ref]; !ok {
			g.t.Errorf("%s: %s (%s) was deleted", when, was.Path, ref)
		} else if !reflect.DeepEqual(is, was.VM) {
			g.t.Errorf("%s: %s (%s) is %+v, was %+v", when, was.Path, ref, is, was.VM)
		}
	}
	for ref, vm := range present {
		if _, ok := g.kept[ref]; !ok {
			g.t.Errorf("%s: unexpected VM %s (%s)", when, vm.Path, ref)
		}
	}
	for i, r := range g.w.Proxy.Records() {
		if was, ok := g.kept[r.Object]; ok && i >= was.since || r.Object == g.folderRef {
			g.t.Errorf("%s: the operator called %s on %s for group %q, outcome %q", when, r.Method, r.Object, r.Group, r.Outcome)
		}
	}
}

// served fails if the group is not served: a VM that a user destroyed is replaced, and it is scaled.
func (g *guarded) served(when string) {
	g.t.Helper()
	g.untouched(when)
	lost := g.get(g.name).Status.VMs[0]
	delete(g.kept, lost.MoRef)
	if err := g.w.Person.Destroy(g.t.Context(), g.folder+"/"+lost.Name); err != nil {
		g.t.Fatal(err)
	}
	g.until(fmt.Sprintf("%s: %s (%s) to be replaced", when, lost.Name, lost.MoRef), g.name, func(now *v1alpha1.VmGroup) bool {
		return runs(now, g.replicas) && now.Status.VMs[0].MoRef != lost.MoRef
	})
	g.keep(when)
	g.rescaled(when)
	g.untouched(when)
}

// rescaled gives the group one more VM, or few again.
func (g *guarded) rescaled(when string) {
	g.t.Helper()
	if g.replicas++; g.replicas > 5 {
		g.replicas = 2
	}
	g.scale(g.name, g.replicas)
	left := map[string]bool{}
	for _, vm := range g.untilRunning(when, g.name, g.replicas).Status.VMs {
		left[vm.MoRef] = true
	}
	for ref, vm := range g.kept {
		if ours := vm.Extra["vmgroup.owner"] != ""; ours && !left[ref] && g.replicas == 2 {
			delete(g.kept, ref)
		}
	}
	g.keep(when)
}
