package vmgroup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// names of the VMs for which clones were requested, each once.
func (r *rig) cloned() (names []string) {
	for _, entry := range r.vcenter.Journal() {
		if entry.Kind == vsphere.OpClone && !slices.Contains(names, entry.Name) {
			names = append(names, entry.Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestOnlyGroupsThatUseATemplateWaitForItsClones(t *testing.T) {
	r := newRig(t)
	r.vcenter.AwaitClones("windows", "task-1 of template windows runs")
	r.settle()

	const why = "task-7 of template debian-12 runs"
	r.vcenter.AwaitClones("debian-12", why)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(3)) })
	r.vcenter.ClearJournal()
	r.rounds(5)
	ready := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionReady)
	if calls := r.vcenter.Journal(); len(calls) != 0 || ready.Reason != v1alpha1.ReasonInventoryIncomplete || !strings.Contains(ready.Message, why) {
		t.Fatalf("calls %v, and it says %+v", calls, ready)
	}
	r.vcenter.AwaitClones("debian-12", "")
	r.rounds(5)
	if got := r.cloned(); !slices.Equal(got, []string{"web-2"}) {
		t.Errorf("cloned: %v", got)
	}
}

func TestAGroupThatIsDeletedWaitsForTheClonesOfItsTemplate(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.vcenter.AwaitClones("debian-12", "task-7 runs")
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(6)
	if n := len(r.references()); n != 2 {
		t.Fatalf("%d VMs are left, want 2", n)
	}
	r.vcenter.AwaitClones("debian-12", "")
	r.rounds(6)
	if n := len(r.references()); n != 0 {
		t.Errorf("%d VMs are left", n)
	}
}

// hung is a group of two VMs whose clones a dead process left running, next to a foreign VM.
func hung(t *testing.T) (r *rig, foreign vsphere.Ref) {
	t.Helper()
	r = newRig(t)
	for len(r.cloned()) < 2 {
		r.mustPass()
	}
	r.vcenter.Disown()
	r.now = r.now.Add(11 * time.Minute) // no process waits for them any more
	return r, r.vcenter.ByHand().AddForeignVM(vsphere.FolderRef(r.group().Status.Folder.MoRef), "db-0")
}

func (r *rig) endsWith(vms int, foreign vsphere.Ref) {
	r.t.Helper()
	r.rounds(8)
	g, all := r.group(), r.references()
	if !all[foreign] || len(all) != vms+1 || len(g.Status.VMs) != vms {
		r.t.Errorf("VMs %v, of which %s is foreign; status has %+v; want %d", all, foreign, g.Status.VMs, vms)
	}
	if got := r.cloned(); !slices.Equal(got, []string{"web-0", "web-1"}) {
		r.t.Errorf("cloned: %v, under more names than wanted", got)
	}
}

func TestClonesThatHungAndEndAfterTheGroupWentOnMakeNoSecondVM(t *testing.T) {
	for name, before := range map[string]func(*rig){
		"before the group asks again": func(*rig) {},
		"while its clones run":        func(r *rig) { r.mustPass() },
		"after its clones ended":      func(r *rig) { r.settle() },
	} {
		t.Run(name, func(t *testing.T) {
			r, foreign := hung(t)
			before(r)
			r.vcenter.EndDisowned()
			r.endsWith(2, foreign)
		})
	}
}

func TestClonesThatHungAndEndAfterAScaleDownAreRemoved(t *testing.T) {
	r, foreign := hung(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(int32(0)) })
	r.rounds(4)
	r.vcenter.EndDisowned()
	r.endsWith(0, foreign)
}

func TestAnOrdinalWhoseNameIsHeldByACloneThatHangsIsNotPassedOver(t *testing.T) {
	r, foreign := hung(t)
	for range 4 {
		r.vcenter.FailTask(vsphere.OpClone, 2, &vsphere.Error{Kind: vsphere.KindBusy, Err: errors.New("it may be a clone that runs")})
		r.rounds(10)
	}
	r.vcenter.EndDisowned()
	r.endsWith(2, foreign)
}

func TestAGroupThatIsGivenAnotherTemplateWaitsForTheClonesThatItDecidedOnBefore(t *testing.T) {
	r, foreign := hung(t)
	r.vcenter.AddTemplate(vsphere.Template{Name: "debian-13"})
	r.vcenter.AwaitClones("debian-12", "task-7 of template debian-12 runs")
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.UpdateStrategy = "debian-13", &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
	})
	r.vcenter.ClearJournal()
	r.rounds(5)
	if calls := r.vcenter.Journal(); len(calls) != 0 {
		t.Fatalf("it acts although its clones of the former template run: %v", calls)
	}
	r.vcenter.EndDisowned()
	r.vcenter.AwaitClones("debian-12", "")
	r.rounds(5)
	if got, all := r.cloned(), r.references(); len(got) != 0 || len(all) != 3 || !all[foreign] {
		t.Errorf("cloned: %v; VMs: %v", got, all)
	}
}
