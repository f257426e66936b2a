package group

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Users who can rename VMs in vCenter cannot inject sentences into our messages.
func TestNamesOfVMsStandInQuotesWithinASentence(t *testing.T) {
	const evil = "web-0. Delete the group"
	vm := vsphere.VM{Ref: vsphere.VMRef("vm-1"), Name: evil, Stamp: &vsphere.Stamp{GroupID: vsphere.GroupID{Group: "another"}}}

	s := ours()
	s.Group.Status.VMs = []v1alpha1.VMStatus{{MoRef: "vm-1"}}
	if text := s.NamesOfOthers(vsphere.Observation{Complete: true, VMs: []vsphere.VM{vm}}); !strings.Contains(text, `VM "`+evil+`" (vm-1)`) {
		t.Errorf("a record of another's VM: %q", text)
	}

	// A member administrator also writes status, and bypasses its validation.
	s = ours()
	s.Group.Status.VCenterInstanceUUID, s.Group.Status.VMs = evil, []v1alpha1.VMStatus{{MoRef: "vm-1"}}
	if b := s.AnotherVCenter(vsphere.Observation{InstanceUUID: "here"}, ""); b == nil || !strings.Contains(b.Message, `(instance "`+evil+`")`) {
		t.Errorf("blocker for an unknown vCenter: %+v", b)
	}

	s = ours()
	s.Observation.Unread = []vsphere.VM{vm}
	if b := s.unread(); b == nil || !strings.Contains(b.Message, `: "`+evil+`" (vm-1). Until`) {
		t.Errorf("blocker for a VM with unreadable configuration: %+v", b)
	}
}
