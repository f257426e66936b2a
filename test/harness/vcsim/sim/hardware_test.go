package sim_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func (h hand) tpm(path string) string {
	h.t.Helper()
	id, err := h.TPM(h.ctx, path)
	must(h.t, err)
	return id
}

func TestACloneHasTheTPMOfItsTemplateUnlessItAsksForItsOwn(t *testing.T) {
	h := person(t, sim.Options{})
	must(t, h.AddTPM(h.ctx, template))
	must(t, h.clone(template, root, "copy", nil))
	own := func(s *types.VirtualMachineCloneSpec) {
		s.TpmProvisionPolicy = string(types.VirtualMachineCloneSpecTpmProvisionPolicyReplace)
	}
	must(t, h.clone(template, root, "own", own))
	if from := h.tpm(template); from == "" || h.tpm(root+"/copy") != from || h.tpm(root+"/own") == from || h.tpm(root+"/own") == "" {
		t.Errorf("template %q, copy %q, own %q", from, h.tpm(root+"/copy"), h.tpm(root+"/own"))
	}
	h = person(t, sim.Options{APIVersion: "7.0.3.0"})
	must(t, h.AddTPM(h.ctx, template))
	refused[*types.InvalidRequest](t, h.clone(template, root, "own", own))
	must(t, h.clone(template, root, "copy", nil))
}

func TestAnEncryptedTemplateNeedsAPrivilege(t *testing.T) {
	s, p := start(t, sim.Options{})
	must(t, p.AddTPM(t.Context(), template))
	denied := refused[*types.NoPermission](t, restricted(t, s).clone(template, root, "a", nil))
	if denied != nil && denied.PrivilegeId != "Cryptographer.Clone" {
		t.Errorf("denied was %+v", denied)
	}
}

func TestAClonesAddressIsNewUnlessAPersonSetTheTemplates(t *testing.T) {
	h := person(t, sim.Options{})
	mac := func(path string) string {
		t.Helper()
		_, mac, err := h.Adapter(h.ctx, path)
		must(t, err)
		return mac
	}
	generate := func(s *types.VirtualMachineCloneSpec) {
		devices, err := h.vm(template).Device(h.ctx)
		must(t, err)
		card := devices.SelectByType((*types.VirtualEthernetCard)(nil))[0]
		nic := card.(types.BaseVirtualEthernetCard).GetVirtualEthernetCard()
		nic.MacAddress, nic.AddressType = "", string(types.VirtualEthernetCardMacTypeGenerated)
		s.Location.DeviceChange = []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: card}}
	}
	must(t, h.clone(template, root, "a", nil))
	must(t, h.clone(template, root, "b", generate))
	if a, b := mac(root+"/a"), mac(root+"/b"); a == "" || a == b || a == mac(template) || b == mac(template) {
		t.Errorf("the addresses are %s, %s and the template's %s", a, b, mac(template))
	}
	const fixed = "00:50:56:00:00:01"
	must(t, h.SetMAC(h.ctx, template, fixed))
	must(t, h.clone(template, root, "c", nil))
	must(t, h.clone(template, root, "d", generate))
	if c, d := mac(root+"/c"), mac(root+"/d"); c != fixed || d != fixed {
		t.Errorf("of an address that a person set the clones have %s and %s", c, d)
	}
}
