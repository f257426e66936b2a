package vmgroup

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// elsewhere makes the group's VCenter lead to another vCenter.
func (r *rig) elsewhere() *fake.Server {
	other := fake.New(fake.Options{Now: r.Now, InstanceUUID: "other"})
	other.AddTemplate(vsphere.Template{Name: "debian-12"})
	r.Servers = fake.Servers{"default": other}
	return other
}

func TestAVCenterThatLeadsToAnotherServerGetsNoSecondVMs(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	other := r.elsewhere()
	r.rounds(3)
	if calls := other.Journal(); len(calls) != 0 || len(other.VMs()) != 0 {
		t.Errorf("in the other vCenter: %v", calls)
	}
	g := r.group()
	if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionReady); c.Reason != v1alpha1.ReasonAnotherVCenter || g.Status.VCenterInstanceUUID != "fake" {
		t.Errorf("status knows vCenter %s: %s", g.Status.VCenterInstanceUUID, words(g.Status.Conditions))
	}
	r.Servers = fake.Servers{"default": r.vcenter}
	r.rounds(3)
	r.sameVMs(before, folder)
}

func TestAGroupThatIsDeletedWhileItsVCenterLeadsElsewhereStays(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.elsewhere()
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(4)
	if c := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionReady); c.Reason != v1alpha1.ReasonAnotherVCenter {
		t.Errorf("%+v", c)
	}
	r.Servers = fake.Servers{"default": r.vcenter}
	r.rounds(8)
	if left := r.references(); len(left) != 0 {
		t.Errorf("VMs of the deleted group that still exist: %v", left)
	}
}

func TestAnAcceptedServerGetsTheVMsThatAreMissingThere(t *testing.T) {
	r := newRig(t)
	wanted := int(r.settle().Status.Replicas)
	other := r.elsewhere()
	r.rounds(2)
	vcenter := &v1alpha1.VCenter{}
	vcenter.Name = "default"
	if err := r.hub.Get(t.Context(), client.ObjectKeyFromObject(vcenter), vcenter); err != nil {
		t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&vcenter.ObjectMeta, v1alpha1.AcceptInstanceAnnotation, "other")
	if err := r.hub.Update(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		r.mustPass()
		other.Confirm()
		other.Finish(-1)
	}
	if g := r.group(); len(other.VMs()) != wanted || g.Status.VCenterInstanceUUID != "other" {
		t.Errorf("%d VMs, and status knows vCenter %s: %s", len(other.VMs()), g.Status.VCenterInstanceUUID, words(g.Status.Conditions))
	}
}

func TestAStatusOfAnOlderVersionTakesTheInstanceOfToday(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	r.status(func(s *v1alpha1.VmGroupStatus) { s.VCenterInstanceUUID = "" })
	r.rounds(2)
	r.sameVMs(before, folder)
	if got := r.group().Status.VCenterInstanceUUID; got != "fake" {
		t.Errorf("status knows vCenter %q", got)
	}
}

func TestAnInstanceThatSomebodyWroteIsCorrectedByTheVMs(t *testing.T) {
	r := newRig(t)
	folder := *r.settle().Status.Folder
	before := r.references()
	r.status(func(s *v1alpha1.VmGroupStatus) { s.VCenterInstanceUUID = "nope" })
	r.rounds(2)
	r.sameVMs(before, folder)
	if got := r.group().Status.VCenterInstanceUUID; got != "fake" {
		t.Errorf("status knows vCenter %q", got)
	}
}
