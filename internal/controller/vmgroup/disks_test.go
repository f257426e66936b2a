package vmgroup

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestADeletedGroupKeepsAVMWithADiskOfSomebodyElse(t *testing.T) {
	r := newRig(t)
	held := r.settle().Status.VMs[1]
	r.vcenter.ByHand().AttachDisks(held.MoRef, vsphere.Disk{Device: "disk-1000-1", Label: "Hard disk 2", File: "[ds] fcd/a.vmdk", FirstClassID: "6f1-2"})
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(8)
	vms := r.vcenter.VMs()
	if len(vms) != 1 || vms[0].Ref.Value != held.MoRef || vms[0].Power != vsphere.PoweredOff || !vms[0].Tombstone {
		t.Fatalf("left are %+v; want %s, marked and off", vms, held.MoRef)
	}
	g := r.group()
	stalled := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonForeignDisk {
		t.Fatalf("the group says %s", words(g.Status.Conditions))
	}
	for _, text := range []string{stalled.Message, g.Status.VMs[0].Message} {
		for _, word := range []string{held.Name, "[ds] fcd/a.vmdk", "6f1-2", "-keep disk-1000-1"} {
			if !strings.Contains(text, word) {
				t.Errorf("%q does not say %s", text, word)
			}
		}
	}
	if calls := r.vcenter.Calls(vsphere.OpDestroy); !slices.Equal(slices.DeleteFunc(calls, func(call string) bool { return !strings.HasSuffix(call, ": ForeignDisk") }), []string{"Destroy " + held.Name + ": ForeignDisk"}) {
		t.Errorf("without any change it was tried again: %v", calls)
	}
	r.vcenter.ByHand().AttachDisks(held.MoRef)
	r.rounds(8)
	if err := r.member.Get(t.Context(), r.request.NamespacedName, &v1alpha1.VmGroup{}); !apierrors.IsNotFound(err) || len(r.vcenter.VMs()) != 0 {
		t.Errorf("the group is still there: %v; left are %v", err, r.vcenter.VMs())
	}
}
