package vmgroup

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestAStrangerOnADisconnectedHostHoldsOnlyWhatItMayStandFor(t *testing.T) {
	r := newRig(t)
	folder := r.settle().Status.Folder
	stranger := r.vcenter.ByHand().AddForeignVM(vsphere.FolderRef(folder.MoRef), "db")
	r.vcenter.HideConfiguration("db") // and the operator was restarted
	r.rounds(2)
	if g := r.group(); !meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("all VMs run, and %s", words(g.Status.Conditions))
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr.To[int32](3) })
	if g := r.work(); len(r.references()) != 3 || !strings.Contains(words(g.Status.Conditions), "db ("+stranger.Value+")") {
		t.Errorf("there are %v, and the group says %s", r.references(), words(g.Status.Conditions))
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr.To[int32](1) })
	if r.work(); len(r.references()) != 2 {
		t.Errorf("a group that shrinks to one has %v, with the stranger", r.references())
	}
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(8)
	if g := r.group(); len(r.references()) != 1 || !strings.Contains(words(g.Status.Conditions), "db ("+stranger.Value+")") {
		t.Errorf("there are %v, and the group says %s", r.references(), words(g.Status.Conditions))
	}
	r.vcenter.ShowConfiguration("db")
	r.rounds(2)
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %v", err)
	}
	if vms := r.vcenter.VMs(); len(vms) != 1 || vms[0].Ref != stranger {
		t.Errorf("left are %v, want the stranger", vms)
	}
}

func TestACloneThatNobodyRecordedIsNotMadeAgainWhileItsHostIsAway(t *testing.T) {
	r := newRig(t)
	r.settle()
	before := r.references()
	lost := r.group().Status.VMs[1]
	r.status(func(s *v1alpha1.VmGroupStatus) { s.VMs[1].MoRef = "" })
	r.vcenter.HideConfiguration(lost.MoRef)
	if g := r.work(); len(r.references()) != len(before) || !strings.Contains(words(g.Status.Conditions), lost.MoRef) {
		t.Fatalf("there are %v, were %v; the group says %s", r.references(), before, words(g.Status.Conditions))
	}
	r.vcenter.ShowConfiguration(lost.MoRef)
	r.work()
	r.sameVMs(before, *r.group().Status.Folder)
}

func TestADeletedGroupWaitsForACloneThatNobodyRecorded(t *testing.T) {
	r := newRig(t)
	r.settle()
	lost := r.group().Status.VMs[1]
	r.status(func(s *v1alpha1.VmGroupStatus) { s.VMs[1].MoRef = "" })
	r.vcenter.HideConfiguration(lost.MoRef)
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(8)
	if vms := r.vcenter.VMs(); len(vms) != 1 || vms[0].Ref.Value != lost.MoRef || len(r.group().Finalizers) == 0 {
		t.Fatalf("VMs left are %v; want the VM with unreadable configuration, and its group", vms)
	}
	r.vcenter.ShowConfiguration(lost.MoRef)
	r.rounds(8)
	if vms := r.vcenter.VMs(); len(vms) != 0 {
		t.Errorf("left are %v", vms)
	}
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) {
		t.Errorf("the group is still there: %v", err)
	}
}

func TestAFolderThatAPersonRenamedStaysTheGroupsWhileNobodyCanLookIntoItsVMs(t *testing.T) {
	r := newRig(t)
	folder := r.settle().Status.Folder
	before := r.references()
	r.status(func(s *v1alpha1.VmGroupStatus) { s.VMs = nil })
	for ref := range before {
		r.vcenter.HideConfiguration(ref.Value)
	}
	r.vcenter.ByHand().RenameFolder(vsphere.FolderRef(folder.MoRef), "my-web")
	if r.work(); len(r.references()) != len(before) || r.group().Status.Folder.MoRef != folder.MoRef {
		t.Fatalf("there are %v in %+v, were %v in %+v", r.references(), r.group().Status.Folder, before, folder)
	}
	for ref := range before {
		r.vcenter.ShowConfiguration(ref.Value)
	}
	if g := r.work(); len(r.references()) != len(before) || !meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("there are %v, were %v: %s", r.references(), before, words(g.Status.Conditions))
	}
}
