package contract

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"maps"
	"math/rand/v2"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// unpacked decodes a gzip+base64 value like cloud-init.
func unpacked(value string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return nil, err
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(text)
}

func guestIdentity(r *run) {
	baked := map[string]string{
		vsphere.GuestUserData: "b2xk", vsphere.GuestUserDataEncoding: "base64", vsphere.GuestMetadata: "e30=", vsphere.GuestMetadataEncoding: "base64",
		"guestinfo.ready": "true", "guestinfo.vendordata": "vendor", "guestinfo.other": "other",
	}
	r.Person.SetTemplateInfo(baked)
	told := func(ordinal int32, change func(*vsphere.CloneRequest)) map[string]string {
		req := r.request(ordinal)
		change(&req)
		r.until("the template was read since it was edited", func() bool {
			err := r.Server.Clone(r.ctx, req)
			if err != nil && vsphere.KindOf(err) == vsphere.KindTransient {
				return false
			}
			r.ok(err)
			return true
		})
		return r.Person.GuestInfo(r.folder, r.vm("the clone is there", ordinal, func(vsphere.VM) bool { return true }))
	}
	if got := told(0, func(*vsphere.CloneRequest) {}); !maps.Equal(got, baked) {
		r.t.Errorf("a clone without user data and metadata has %v, want what its template has", got)
	}
	got := told(1, func(req *vsphere.CloneRequest) {
		req.Metadata = &vsphere.Metadata{Hostname: "web-1", More: map[string]string{"zone": "a"}}
		req.GuestInfoKey = "guestinfo.ready"
	})
	metadata := base64.StdEncoding.EncodeToString([]byte(`{"instance-id":"` + r.request(1).UUID + `.20260102T030405Z","local-hostname":"web-1","zone":"a"}`))
	want := map[string]string{
		vsphere.GuestMetadata: metadata, vsphere.GuestMetadataEncoding: "base64", "guestinfo.vendordata": "vendor", "guestinfo.other": "other",
	}
	if !maps.Equal(got, want) {
		r.t.Errorf("a clone with metadata has %v, want %v", got, want)
	}
	got = told(2, func(req *vsphere.CloneRequest) { req.UserData = []byte("new") })
	want = map[string]string{
		vsphere.GuestUserData: "bmV3", vsphere.GuestUserDataEncoding: "base64", "guestinfo.ready": "true", "guestinfo.vendordata": "vendor", "guestinfo.other": "other",
	}
	if !maps.Equal(got, want) {
		r.t.Errorf("a clone with user data has %v, want %v", got, want)
	}
	large := []byte("#cloud-config\n" + strings.Repeat("- a line of user data that cloud-init reads\n", 5000))
	got = told(4, func(req *vsphere.CloneRequest) { req.UserData = large })
	if read, err := unpacked(got[vsphere.GuestUserData]); got[vsphere.GuestUserDataEncoding] != "gzip+base64" || err != nil || !bytes.Equal(read, large) {
		r.t.Errorf("a guest reads %d bytes of %d bytes of user data, encoded as %q: %v", len(read), len(large), got[vsphere.GuestUserDataEncoding], err)
	}
	req := r.request(3)
	req.UserData = make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(req.UserData)
	r.refused(r.Server.Clone(r.ctx, req), vsphere.KindSpec)
	req = r.request(3)
	req.Metadata = &vsphere.Metadata{More: map[string]string{"instance-id": "mine"}}
	r.refused(r.Server.Clone(r.ctx, req), vsphere.KindSpec)
	if o := r.observe(); len(o.InFlight)+len(o.Failures) > 0 {
		r.t.Errorf("traces of a clone that was not sent: %+v", o)
	}
}

func guestWrites(r *run) {
	const key = "guestinfo.ready"
	r.asks = vsphere.GuestInfoQuery{Key: key, Value: "true"}
	vm := r.clone(0)
	r.Person.Boots(r.folder, vm)
	says := func(what, value string, power vsphere.PowerState) {
		r.t.Helper()
		vm = r.vm(what, 0, func(vm vsphere.VM) bool { return vm.GuestInfoKnown && vm.GuestInfo == value && vm.Power == power })
	}
	says("off, it says nothing", "", vsphere.PoweredOff)
	r.ok(r.Server.PowerOn(r.ctx, target(vm)))
	says("on, it has written nothing yet", "", vsphere.PoweredOn)
	r.until("the guest has booted", func() bool { vm, _ := stamped(r.observe(), 0); return vm.ToolsRunning })
	for _, value := range []string{"starting", "true"} {
		r.Person.GuestWrites(r.folder, vm, key, value)
		says("it has written "+value, value, vsphere.PoweredOn)
	}
	for _, other := range []vsphere.GuestInfoQuery{{}, {Key: "guestinfo.userdata"}, {Key: "vmgroup.owner"}} {
		r.asks = other
		if vm, _ := stamped(r.observe(), 0); vm.GuestInfo != "" || vm.GuestInfoKnown {
			r.t.Errorf("a group that asks for %+v gets %q", other, vm.GuestInfo)
		}
	}
	r.asks = vsphere.GuestInfoQuery{Key: key}
	says("asked again, it says the same", "true", vsphere.PoweredOn)
	r.ok(r.Server.PowerOff(r.ctx, target(vm)))
	says("off, what it has written is lost", "", vsphere.PoweredOff)
}
