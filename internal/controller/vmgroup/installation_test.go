package vmgroup

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// stampedBy returns the installations that stamped the VMs, by reference.
func (r *rig) stampedBy() map[vsphere.Ref]string {
	by := map[vsphere.Ref]string{}
	for _, vm := range r.vcenter.VMs() {
		by[vm.Ref] = vm.Stamp.Installation
	}
	return by
}

// Users who can change VMs in vCenter write their stamps, and a hub administrator runs the commands in the
// message.
func TestAForgedInstallationStandsInNoCommand(t *testing.T) {
	const evil = "i; kubectl delete crds --all"
	r := newRig(t)
	r.settle()
	r.vcenter.ByHand().Edit("web-0", func(vm *vsphere.VM) {
		stamp := *vm.Stamp
		stamp.Installation = evil
		vm.Stamp = &stamp
	})
	r.rounds(2)
	stalled := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonAnotherInstallation || !strings.Contains(stalled.Message, `(UID "`+evil+`")`) {
		t.Fatalf("condition Stalled does not quote the installation: %s", words(r.group().Status.Conditions))
	}
	if strings.Count(stalled.Message, "kubectl") != 1 || !strings.Contains(stalled.Message, "vmgroup.*") {
		t.Errorf("the way out: %s", stalled.Message)
	}
}

func TestASecondHubNeitherDoublesNorTouchesTheVMsUntilItIsNamedAsSuccessor(t *testing.T) {
	r := newRig(t)
	r.settle()
	before := r.stampedBy()
	r.Installation = "second"
	journal := len(r.vcenter.Journal())
	r.rounds(5)
	stalled := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonAnotherInstallation || len(r.vcenter.Journal()) != journal {
		t.Fatalf("vCenter was asked for %d operations; %s", len(r.vcenter.Journal())-journal, words(r.group().Status.Conditions))
	}
	for _, command := range []string{
		"kubectl annotate membercluster local vm.codeconnect.vmworld.com/predecessor=installation;",
		"kubectl annotate vcenter default vm.codeconnect.vmworld.com/predecessor=installation;",
	} {
		if !strings.Contains(stalled.Message, command) {
			t.Errorf("the way out %q is not in: %s", command, stalled.Message)
		}
	}

	r.memberIs(func(m *fleet.Member) { m.Predecessor = "installation" })
	r.rounds(2)
	if !maps.Equal(r.stampedBy(), before) {
		t.Errorf("one of two administrators was enough: stamped by %v", r.stampedBy())
	}
	r.vcenter.SetPredecessor("installation")
	r.settle()
	for ref, by := range r.stampedBy() {
		if _, was := before[ref]; !was || by != "second" {
			t.Errorf("%s is stamped by %s; there were %v", ref, by, before)
		}
	}
	if len(r.stampedBy()) != len(before) {
		t.Errorf("the VMs were %v and are %v", before, r.stampedBy())
	}
}
