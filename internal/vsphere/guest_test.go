package vsphere_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestMetadataOfAGuest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		give vsphere.Metadata
		want map[string]string
	}{
		{"nothing", vsphere.Metadata{}, map[string]string{"instance-id": "uuid-1"}},
		{"hostname", vsphere.Metadata{Hostname: "web-0"}, map[string]string{"instance-id": "uuid-1", "local-hostname": "web-0"}},
		{"more", vsphere.Metadata{More: map[string]string{"zone": "a\"b", "local-hostname": "other"}},
			map[string]string{"instance-id": "uuid-1", "zone": "a\"b", "local-hostname": "other"}},
		{"hostname wins", vsphere.Metadata{Hostname: "web-0", More: map[string]string{"local-hostname": "other"}},
			map[string]string{"instance-id": "uuid-1", "local-hostname": "web-0"}},
	} {
		before := maps.Clone(tc.give.More)
		out, err := tc.give.JSON("uuid-1")
		var got map[string]string
		if err != nil || json.Unmarshal(out, &got) != nil || !maps.Equal(got, tc.want) {
			t.Errorf("%s: %s, %v; want %v", tc.name, out, err, tc.want)
		}
		if !maps.Equal(before, tc.give.More) {
			t.Errorf("%s: the caller's map is %v", tc.name, tc.give.More)
		}
	}
	if _, err := (vsphere.Metadata{More: map[string]string{"instance-id": "mine"}}).JSON("uuid-1"); err == nil {
		t.Error("an instance ID can be set")
	}
	if _, err := (vsphere.Metadata{}).JSON(""); err == nil {
		t.Error("no instance ID is needed")
	}
}

// cloud-init accepts a list.
func TestMetadataListsWhatCloudInitRedacts(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{"userdata": `["userdata"]`, "userdata, vendordata": `["userdata","vendordata"]`, "": `[]`} {
		out, err := vsphere.Metadata{More: map[string]string{"redact": give}}.JSON("uuid-1")
		if err != nil || string(out) != `{"instance-id":"uuid-1","redact":`+want+`}` {
			t.Errorf("%q: %s, %v", give, out, err)
		}
	}
}

func TestKeysThatAGuestWrites(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"guestinfo.ready", "guestinfo.app.State-1_b", "guestinfo.userdatabase"} {
		if err := vsphere.CheckGuestInfoKey(key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	for _, key := range []string{
		"", "guestinfo.", "ready", "vmgroup.owner", "GUESTINFO.ready", `guestinfo.a"]`, "guestinfo.a b", "guestinfo.é", "guestinfo." + strings.Repeat("a", 128),
		"guestinfo.userdata", "guestinfo.UserData", "guestinfo.ignition.config.data", "guestinfo.metadata", "guestinfo.metadata.encoding", "guestinfo.vendordata",
	} {
		if vsphere.CheckGuestInfoKey(key) == nil {
			t.Errorf("%q is allowed", key)
		}
	}
}

func TestWhatACloneTellsItsGuest(t *testing.T) {
	t.Parallel()
	const user, metadata, ignition = "I2Nsb3VkLWNvbmZpZwo=", "eyJpbnN0YW5jZS1pZCI6InV1aWQtMSIsImxvY2FsLWhvc3RuYW1lIjoid2ViLTAifQ==", "e30="
	data, identity := []byte("#cloud-config\n"), &vsphere.Metadata{Hostname: "web-0"}
	keys := func(user, userEncoding, metadata, metadataEncoding string) map[string]string {
		return map[string]string{
			vsphere.GuestUserData: user, vsphere.GuestUserDataEncoding: userEncoding,
			vsphere.GuestMetadata: metadata, vsphere.GuestMetadataEncoding: metadataEncoding,
			vsphere.GuestIgnition: "", vsphere.GuestIgnitionEncoding: "",
		}
	}
	forIgnition := keys("", "", "", "")
	forIgnition[vsphere.GuestIgnition], forIgnition[vsphere.GuestIgnitionEncoding] = ignition, "base64"
	for _, tc := range []struct {
		name string
		give vsphere.CloneRequest
		want map[string]string
	}{
		{"nothing", vsphere.CloneRequest{}, map[string]string{}},
		{"user data", vsphere.CloneRequest{UserData: data}, keys(user, "base64", "", "")},
		{"metadata", vsphere.CloneRequest{Metadata: identity}, keys("", "", metadata, "base64")},
		{"both", vsphere.CloneRequest{UserData: data, Metadata: identity}, keys(user, "base64", metadata, "base64")},
		{"Ignition", vsphere.CloneRequest{Ignition: []byte("{}")}, forIgnition},
		{"a key to write", vsphere.CloneRequest{GuestInfoKey: "guestinfo.ready"}, map[string]string{"guestinfo.ready": ""}},
	} {
		tc.give.UUID = "uuid-1"
		if got, err := tc.give.GuestInfo(); err != nil || !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v; want %v", tc.name, got, err, tc.want)
		}
	}
	for _, bad := range []vsphere.CloneRequest{
		{UUID: "uuid-1", GuestInfoKey: "vmgroup.owner"}, {Metadata: identity}, {UUID: "uuid-1", Metadata: &vsphere.Metadata{More: map[string]string{"instance-id": "a"}}},
	} {
		if got, err := bad.GuestInfo(); err == nil {
			t.Errorf("%+v gives %v", bad, got)
		}
	}
}

// The VM that replaces another has its ordinal, and so its UUID.
func TestEachCloneHasAnInstanceIDOfItsOwn(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	told := func(at time.Time) string {
		t.Helper()
		info, err := vsphere.CloneRequest{UUID: "uuid-1", Stamp: vsphere.Stamp{Created: at}, Metadata: &vsphere.Metadata{}}.GuestInfo()
		if err != nil {
			t.Fatal(err)
		}
		metadata, err := base64.StdEncoding.DecodeString(info[vsphere.GuestMetadata])
		if err != nil {
			t.Fatal(err)
		}
		return string(metadata)
	}
	if got := told(created); got != `{"instance-id":"uuid-1.20260102T030405Z"}` || got != told(created.In(time.FixedZone("", 3600))) {
		t.Errorf("guest metadata is %s", got)
	}
	if told(created) == told(created.Add(time.Second)) {
		t.Error("a later clone has the same instance-id")
	}
}

// User data of 933,336 bytes was written unchanged, and guests booted without it.
func TestUserDataIsCompressedWhereAGuestCouldNotReadItAndRefusedWhereItStillCannot(t *testing.T) {
	t.Parallel()
	random := func(n int) []byte {
		out := make([]byte, n)
		_, _ = rand.NewChaCha8([32]byte{1}).Read(out)
		return out
	}
	text := func(n int) []byte { return bytes.Repeat([]byte("write_files: [x]\n"), n/17+1)[:n] }
	for _, c := range []struct {
		story    string
		give     []byte
		encoding string // empty if it is rejected
	}{
		{"little", text(20), "base64"},
		{"as much as a guest reads as it is", random(49152), "base64"},
		{"one byte more, of text", text(49153), "gzip+base64"},
		{"one byte more, that cannot be compressed", random(49153), ""},
		{"200,016 bytes of text", text(200016), "gzip+base64"},
		{"933,336 bytes of text", text(933336), "gzip+base64"},
		{"200,016 bytes that cannot be compressed", random(200016), ""},
		{"933,336 bytes that cannot be compressed", random(933336), ""},
	} {
		info, err := vsphere.CloneRequest{UUID: "u", UserData: c.give}.GuestInfo()
		checked := vsphere.CheckGuestValue(c.give)
		var tooLong *vsphere.GuestValueError
		switch {
		case c.encoding == "":
			if !errors.As(err, &tooLong) || !errors.As(checked, &tooLong) || tooLong.Size != len(c.give) || tooLong.Encoded <= vsphere.LongestGuestValue {
				t.Errorf("%s: %v, %v", c.story, err, checked)
			}
		case err != nil || checked != nil || info[vsphere.GuestUserDataEncoding] != c.encoding || len(info[vsphere.GuestUserData]) > vsphere.LongestGuestValue:
			t.Errorf("%s: %d characters as %q, %v, %v", c.story, len(info[vsphere.GuestUserData]), info[vsphere.GuestUserDataEncoding], err, checked)
		}
	}
}
