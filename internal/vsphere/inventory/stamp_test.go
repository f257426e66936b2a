package inventory

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func values(kvs []KV) map[string]string {
	m := map[string]string{}
	for _, kv := range kvs {
		m[kv.Key] = kv.Value
	}
	return m
}

func drawStamp(t *rapid.T) vsphere.Stamp {
	id := rapid.StringMatching(`[a-f0-9-]{1,36}`)
	s := vsphere.Stamp{
		GroupID:     vsphere.GroupID{Installation: id.Draw(t, "installation"), Member: id.Draw(t, "member"), Group: id.Draw(t, "group")},
		Ordinal:     rapid.Int32Min(0).Draw(t, "ordinal"),
		Incarnation: rapid.Int32Min(0).Draw(t, "incarnation"),
		Revision:    rapid.StringMatching(`[ -~]{0,64}`).Draw(t, "revision"),
		CloneMode:   rapid.SampledFrom([]string{"", "Full", "Linked"}).Draw(t, "cloneMode"),
		UUID:        rapid.SampledFrom([]string{"", "420a1b2c-0000-1111-2222-333344445555"}).Draw(t, "uuid"),
		Epoch:       vsphere.Epoch{Generation: rapid.Int64().Draw(t, "generation"), Number: rapid.Int64().Draw(t, "number")},
	}
	if rapid.Bool().Draw(t, "has time") {
		s.Created = time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "created"), 0).UTC()
	}
	return s
}

func TestStampsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawStamp(t)
		kvs, err := EncodeStamp(want)
		if err != nil {
			t.Fatal(err)
		}
		got, tombstone := DecodeStamp(values(kvs))
		if got == nil || *got != want || tombstone {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		m := values(kvs)
		m[KeyTombstone] = "2026-01-01T00:00:00Z"
		if _, tombstone := DecodeStamp(m); !tombstone {
			t.Fatal("the tombstone is lost")
		}
	})
}

func TestNoTwoSpellingsOfOneOwner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := map[string]string{KeyOwner: rapid.String().Draw(t, "owner"), KeyEpoch: "0.0"}
		if s, _ := DecodeStamp(m); s != nil {
			kvs, err := EncodeStamp(*s)
			if err != nil || values(kvs)[KeyOwner] != m[KeyOwner] {
				t.Fatalf("%q reads as %+v, which is written as %q", m[KeyOwner], s, values(kvs)[KeyOwner])
			}
		}
	})
}

func TestMalformedStampsAreNobodys(t *testing.T) {
	good, err := EncodeStamp(vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: "g"}, Ordinal: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(map[string]string){
		"released":             func(m map[string]string) { clear(m) },
		"another version":      func(m map[string]string) { m[KeyOwner] = "v2;i;m;g;1;0" },
		"too few parts":        func(m map[string]string) { m[KeyOwner] = "v1;i;m;g;1" },
		"too many parts":       func(m map[string]string) { m[KeyOwner] = "v1;i;m;g;1;0;x" },
		"empty group":          func(m map[string]string) { m[KeyOwner] = "v1;i;m;;1;0" },
		"negative ordinal":     func(m map[string]string) { m[KeyOwner] = "v1;i;m;g;-1;0" },
		"leading zero":         func(m map[string]string) { m[KeyOwner] = "v1;i;m;g;01;0" },
		"plus":                 func(m map[string]string) { m[KeyOwner] = "v1;i;m;g;+1;0" },
		"no number":            func(m map[string]string) { m[KeyOwner] = "v1;i;m;g;x;0" },
		"ordinal out of range": func(m map[string]string) { m[KeyOwner] = "v1;i;m;g;99999999999;0" },
		"epoch":                func(m map[string]string) { m[KeyEpoch] = "1" },
		"created":              func(m map[string]string) { m[KeyCreated] = "yesterday" },
	} {
		m := values(good)
		m[KeyTombstone] = "x"
		if s, _ := DecodeStamp(m); s == nil {
			t.Fatal("the good stamp is malformed")
		}
		change(m)
		if s, tombstone := DecodeStamp(m); s != nil || tombstone {
			t.Errorf("%s: reads as %+v", name, s)
		}
	}
	for _, id := range []vsphere.GroupID{{}, {Installation: "i", Member: "m;x", Group: "g"}} {
		if _, err := EncodeStamp(vsphere.Stamp{GroupID: id}); err == nil {
			t.Errorf("%+v can be encoded", id)
		}
	}
}

func FuzzDecodeStamp(f *testing.F) {
	f.Add("v1;i;m;g;1;0", "r", "Full", "1.2", "2026-01-01T00:00:00Z", "")
	f.Add("v1;;;;;", "", "", ".", "", "x")
	f.Fuzz(func(t *testing.T, owner, revision, mode, epoch, created, tombstone string) {
		s, dead := DecodeStamp(map[string]string{
			KeyOwner: owner, KeyRevision: revision, KeyCloneMode: mode, KeyEpoch: epoch, KeyCreated: created, KeyTombstone: tombstone,
		})
		if s == nil && dead {
			t.Error("a tombstone without a stamp")
		}
		if s != nil && (s.Ordinal < 0 || s.Group == "" || strings.Contains(s.Group, ";")) {
			t.Errorf("reads as %+v", s)
		}
	})
}

func TestReleaseMarksComeBackAsTheyWereAndLeaveNothingElseOfTheStamp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStamp(t)
		want := vsphere.ReleaseMark{
			GroupID: s.GroupID, Namespace: rapid.StringMatching(`[a-z0-9-]{1,63}`).Draw(t, "namespace"), Ordinal: s.Ordinal, Revision: s.Revision, UUID: s.UUID,
		}
		stamp, err := EncodeStamp(s)
		if err != nil {
			t.Fatal(err)
		}
		vm := values(stamp)
		vm[KeyTombstone], vm[KeyRootDisk] = "2026-01-01T00:00:00Z", "40"
		written, err := EncodeRelease(want)
		if err != nil {
			t.Fatal(err)
		}
		for _, kv := range written {
			vm[kv.Key] = kv.Value
		}
		if got := DecodeRelease(vm); got == nil || *got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		for key, value := range vm {
			if key != KeyReleased && key != KeyUUID && key != KeyRootDisk && value != "" {
				t.Fatalf("%s is still %q", key, value)
			}
		}
		if got := DecodeRootDisk(vm); got != 40 { // the disk stays as it is
			t.Fatalf("the root disk has %d GiB", got)
		}
	})
}

func TestNoTwoSpellingsOfOneReleaseMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`v1(;[a1]{1,2}){4};[+0-9-]{0,3}(;[a;]{0,2})?`).Draw(t, "mark")
		if m := DecodeRelease(map[string]string{KeyReleased: value}); m != nil {
			kvs, err := EncodeRelease(*m)
			if err != nil || values(kvs)[KeyReleased] != value {
				t.Fatalf("%q reads as %+v, which is written as %q", value, m, values(kvs)[KeyReleased])
			}
		}
	})
}

// Status has room for 64 and 32 characters. Longer values of one VM would prevent all writes of the
// group's status, and so all actions.
func TestWhatSomebodyWroteIntoAStampIsCut(t *testing.T) {
	long := strings.Repeat("x", 300)
	s, _ := DecodeStamp(map[string]string{KeyOwner: "v1;i;m;g;1;0", KeyEpoch: "1.2", KeyRevision: long, KeyCloneMode: long})
	if s == nil || len(s.Revision) != 64 || len(s.CloneMode) != 32 {
		t.Errorf("the stamp reads as %+v", s)
	}
	if m := DecodeRelease(map[string]string{KeyReleased: "v1;i;m;n;g;1;" + long}); m == nil || len(m.Revision) != 64 {
		t.Errorf("the release mark reads as %+v", m)
	}
}

func TestMalformedReleaseMarksAreNone(t *testing.T) {
	read := func(value string) *vsphere.ReleaseMark { return DecodeRelease(map[string]string{KeyReleased: value}) }
	want := vsphere.ReleaseMark{GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: "g"}, Namespace: "n", Ordinal: 1, Revision: "r;s"}
	if got := read("v1;i;m;n;g;1;r;s"); got == nil || *got != want {
		t.Fatalf("the good mark reads as %+v, want %+v", got, want)
	}
	for name, value := range map[string]string{
		"none":                 "",
		"another version":      "v2;i;m;n;g;1;r",
		"too few parts":        "v1;i;m;n;g;1",
		"empty installation":   "v1;;m;n;g;1;r",
		"empty member":         "v1;i;;n;g;1;r",
		"empty namespace":      "v1;i;m;;g;1;r",
		"empty group":          "v1;i;m;n;;1;r",
		"negative ordinal":     "v1;i;m;n;g;-1;r",
		"leading zero":         "v1;i;m;n;g;01;r",
		"no number":            "v1;i;m;n;g;x;r",
		"ordinal out of range": "v1;i;m;n;g;99999999999;r",
		"a NUL":                "v1;i;m;n\x00;g;1;r",
	} {
		if m := read(value); m != nil {
			t.Errorf("%s: reads as %+v", name, m)
		}
	}
	for name, change := range map[string]func(*vsphere.ReleaseMark){
		"no namespace":             func(m *vsphere.ReleaseMark) { m.Namespace = "" },
		"a semicolon in an ID":     func(m *vsphere.ReleaseMark) { m.Member = "m;x" },
		"no installation":          func(m *vsphere.ReleaseMark) { m.Installation = "" },
		"an ordinal below nothing": func(m *vsphere.ReleaseMark) { m.Ordinal = -1 },
	} {
		m := want
		if change(&m); m == want {
			t.Fatalf("%s changes nothing", name)
		}
		if _, err := EncodeRelease(m); err == nil {
			t.Errorf("%s: %+v can be encoded", name, m)
		}
	}
}

func TestAStampWinsOverAReleaseMark(t *testing.T) {
	stamp, err := EncodeStamp(vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: "g"}})
	if err != nil {
		t.Fatal(err)
	}
	vm := values(stamp)
	vm[KeyReleased] = "v1;i;m;n;g;1;r"
	if m := DecodeRelease(vm); m != nil {
		t.Errorf("beside a stamp a mark reads as %+v", m)
	}
	vm[KeyOwner] += ";x"
	if m := DecodeRelease(vm); m == nil {
		t.Error("what cannot be read as a stamp hides the mark")
	}
}

func TestACloneStartsWithoutTheTombstoneAndTheReleaseMarkOfItsTemplate(t *testing.T) {
	written, err := EncodeStamp(vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: "g"}})
	if err != nil {
		t.Fatal(err)
	}
	template := map[string]string{KeyTombstone: "2026-01-02T12:00:00Z", KeyReleased: "v1;i;m;n;old;1;r"} // vCenter copies them with the rest
	for _, kv := range written {
		template[kv.Key] = kv.Value
	}
	if stamp, doomed := DecodeStamp(template); stamp == nil || doomed {
		t.Errorf("the clone of a VM with a tombstone is doomed from birth (stamp %v)", stamp)
	}
	if mark := template[KeyReleased]; mark != "" {
		t.Errorf("the clone of a released VM carries the mark %q", mark)
	}
}
