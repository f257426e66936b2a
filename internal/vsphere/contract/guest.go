package contract

import (
	"encoding/base64"
	"maps"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func guestIdentity(r *run) {
	baked := map[string]string{
		vsphere.GuestUserData: "b2xk", vsphere.GuestUserDataEncoding: "base64", vsphere.GuestMetadata: "e30=", vsphere.GuestMetadataEncoding: "base64",
		"guestinfo.ready": "true", "guestinfo.vendordata": "vendor", "guestinfo.other": "other",
	}
	r.Person.SetTemplateInfo(baked)
	r.until("the template is there", func() bool { _, err := r.Server.Template(r.Template); return err == nil })
	told := func(ordinal int32, change func(*vsphere.CloneRequest)) map[string]string {
		req := r.request(ordinal)
		change(&req)
		r.ok(r.Server.Clone(r.ctx, req))
		return r.Person.GuestInfo(r.folder, r.vm("the clone is there", ordinal, func(vsphere.VM) bool { return true }))
	}
	if got := told(0, func(*vsphere.CloneRequest) {}); !maps.Equal(got, baked) {
		r.t.Errorf("a clone without user data and metadata has %v, want what its template has", got)
	}
	got := told(1, func(req *vsphere.CloneRequest) {
		req.Metadata = &vsphere.Metadata{Hostname: "web-1", More: map[string]string{"zone": "a"}}
		req.GuestInfoKey = "guestinfo.ready"
	})
	metadata := base64.StdEncoding.EncodeToString([]byte(`{"instance-id":"` + r.request(1).UUID + `","local-hostname":"web-1","zone":"a"}`))
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
	req := r.request(3)
	req.Metadata = &vsphere.Metadata{More: map[string]string{"instance-id": "mine"}}
	r.refused(r.Server.Clone(r.ctx, req), vsphere.KindSpec)
	if o := r.observe(); len(o.InFlight)+len(o.Failures) > 0 {
		r.t.Errorf("traces of a clone that was not sent: %+v", o)
	}
}
