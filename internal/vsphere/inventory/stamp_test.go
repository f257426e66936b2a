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
		Revision:    rapid.String().Draw(t, "revision"),
		CloneMode:   rapid.SampledFrom([]string{"", "Full", "Linked"}).Draw(t, "cloneMode"),
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

func TestACloneStartsWithoutTheTombstoneOfItsTemplate(t *testing.T) {
	written, err := EncodeStamp(vsphere.Stamp{GroupID: vsphere.GroupID{Installation: "i", Member: "m", Group: "g"}})
	if err != nil {
		t.Fatal(err)
	}
	template := map[string]string{KeyTombstone: "2026-01-02T12:00:00Z"} // vCenter copies it with the rest
	for _, kv := range written {
		template[kv.Key] = kv.Value
	}
	if stamp, doomed := DecodeStamp(template); stamp == nil || doomed {
		t.Errorf("the clone of a marked VM is doomed from birth (stamp %v)", stamp)
	}
}
