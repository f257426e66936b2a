package session

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// honestVM is a VM with all properties that vCenter can return: those in a listing, the details of
// changed VMs, and the devices of templates.
func honestVM(i, details, devices int) string {
	var b strings.Builder
	property := func(name, kind, value string) {
		fmt.Fprintf(&b, `<propSet><name>%s</name><val xsi:type="%s">%s</val></propSet>`, name, kind, value)
	}
	fmt.Fprintf(&b, `<objects><obj type="VirtualMachine">vm-%d</obj>`, 100000+i)
	for range 6 {
		property("config.hotPlugMemoryIncrementSize", "xsd:string", strings.Repeat("n", 80))
	}
	property("parent", `ManagedObjectReference" type="Folder`, "group-v100000")
	for range 6 + details {
		property("config.hardware.numCoresPerSocket", "xsd:int", "16")
	}
	property("disabledMethod", "ArrayOfString", strings.Repeat("<string>MakePrimaryVM_Task_and_so_on</string>", 40))
	for range details {
		property("config.extraConfig[&quot;vmgroup.codeconnect.de/incarnation&quot;]", "OptionValue",
			`<key>vmgroup.codeconnect.de/incarnation</key><value xsi:type="xsd:string">`+strings.Repeat("v", 200)+"</value>")
	}
	if devices > 0 {
		property("config.hardware.device", "ArrayOfVirtualDevice", strings.Repeat(`<VirtualDevice xsi:type="VirtualDisk"><key>2000</key><deviceInfo><label>Hard disk 1</label>`+
			`<summary>104,857,600 KB</summary></deviceInfo><backing xsi:type="VirtualDiskFlatVer2BackingInfo"><fileName>[datastore-of-a-cluster] a-virtual-machine/a-virtual-machine.vmdk</fileName>`+
			`<datastore type="Datastore">datastore-1000</datastore><diskMode>persistent</diskMode><split>false</split><writeThrough>false</writeThrough><thinProvisioned>true</thinProvisioned>`+
			`<uuid>6000C29a-0000-0000-0000-000000000000</uuid><contentId>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</contentId><digestEnabled>false</digestEnabled></backing>`+
			`<controllerKey>1000</controllerKey><unitNumber>0</unitNumber><capacityInKB>104857600</capacityInKB><capacityInBytes>107374182400</capacityInBytes>`+
			`<shares><shares>1000</shares><level>normal</level></shares><storageIOAllocation><limit>-1</limit><shares><shares>1000</shares><level>normal</level></shares><reservation>0</reservation>`+
			`</storageIOAllocation><diskObjectId>1-2000</diskObjectId><nativeUnmanagedLinkedClone>false</nativeUnmanagedLinkedClone></VirtualDevice>`, devices))
	}
	return b.String() + "</objects>"
}

// TestHonestPagesAreFarFromTheirBound: a response beyond its bound ends the connection to that vCenter.
func TestHonestPagesAreFarFromTheirBound(t *testing.T) {
	for _, test := range []struct {
		story                 string
		vms, details, devices int
		// share is the divisor of the bound that is enough.
		of    bound
		share int64
	}{
		{"a page of VMs", 1000, 0, 0, page, 4},
		{"a page of whole VMs", 1000, 8, 0, page, 3},
		{"a page of templates with 10 devices each", 1000, 8, 10, page, 1},
		{"20,000 VMs", 20000, 0, 0, bound{1 << 40, listingWeight}, 1},
	} {
		s := scanner{known: typesByName(types.TypeFunc()), body: reflect.TypeFor[methods.RetrievePropertiesExBody]()}
		const begin = "<Envelope><Body><RetrievePropertiesExResponse><returnval>"
		bytes := int64(len(begin))
		if err := s.scan([]byte(begin)); err != nil {
			t.Fatal(err)
		}
		for i := range test.vms {
			vm := honestVM(i, test.details, test.devices)
			bytes += int64(len(vm))
			if err := s.scan([]byte(vm)); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s have %d KiB and weigh %d KiB", test.story, bytes>>10, s.weight>>10)
		if s.weight*test.share > test.of.weight || bytes*test.share > test.of.bytes {
			t.Errorf("%s weigh %d MiB and have %d MiB", test.story, s.weight>>20, bytes>>20)
		}
	}
}
