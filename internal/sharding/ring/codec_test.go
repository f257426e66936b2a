package ring

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyRing draws from all shard maps that can be stored.
func anyRing(t *rapid.T) Ring {
	number := rapid.Int64Range(0, math.MaxInt64)
	duration := func(name string) time.Duration { return time.Duration(number.Draw(t, name)) }
	lock := rapid.Custom(func(t *rapid.T) Lock {
		return Lock{
			Holder: rapid.OneOf(rapid.SampledFrom([]string{"", "boot-1", "boot-2", "boot-3"}), rapid.String()).Draw(t, "holder"),
			Number: number.Draw(t, "number"),
		}
	})
	r := Ring{
		Settings: Settings{
			Hash:     rapid.OneOf(rapid.Just(HashName), rapid.String()).Draw(t, "hash"),
			Validity: duration("validity"), Patience: duration("patience"),
		},
		Generation: rapid.Int64Range(1, math.MaxInt64).Draw(t, "generation"),
		Sequence:   number.Draw(t, "sequence"),
		Leader:     lock.Draw(t, "leader"),
		Buckets:    rapid.SliceOfN(lock, 1, 40).Draw(t, "buckets"),
	}
	r.Rebuilt = rapid.Int64Range(0, r.Generation).Draw(t, "rebuilt")
	r.Settings.Buckets = len(r.Buckets)
	return r
}

func TestRingIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyRing(t)
		data, err := Encode(want)
		if err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatalf("%v: %v", data, err)
		}
		if difference := cmp.Diff(want, got); difference != "" {
			t.Fatalf("%v\n%s", data, difference)
		}
	})
}

// typical is a shard map of sessions with names as long as UUIDs, after years of use.
func typical(buckets, sessions int) Ring {
	r := Ring{
		Settings:   Settings{Buckets: buckets, Hash: HashName, Validity: 8 * time.Second, Patience: 12 * time.Second},
		Generation: 3, Rebuilt: 3, Sequence: 123_456_789,
		Leader: Lock{Holder: session(0), Number: 12_345},
	}
	for b := range buckets {
		r.Buckets = append(r.Buckets, Lock{Holder: session(b % sessions), Number: 1_234_567})
	}
	return r
}

func session(i int) string { return fmt.Sprintf("0b5a3c1b-52b4-4b8e-9f0e-%012d", i) }

func TestStoredRingIsSmall(t *testing.T) {
	data, err := Encode(typical(128, 10))
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for key, value := range data {
		size += len(key) + len(value)
	}
	t.Logf("%d bytes", size)
	if size > 3_000 {
		t.Errorf("%d bytes for 128 buckets and 10 sessions", size)
	}
}

// TestStoredFormatStays: older versions' data stays readable. If this fails, raise the format.
func TestStoredFormatStays(t *testing.T) {
	const text = `{"format":1,"buckets":3,"hash":"xxhash64/1","validity":"8s","patience":"12s","generation":2,` +
		`"rebuilt":1,"sequence":7,"sessions":["b","a"],"leader":[0,4],"slots":[[1,5],[-1,6],[0,1]]}`
	want := Ring{
		Settings:   Settings{Buckets: 3, Hash: HashName, Validity: 8 * time.Second, Patience: 12 * time.Second},
		Generation: 2, Rebuilt: 1, Sequence: 7,
		Leader: Lock{"b", 4}, Buckets: []Lock{{"a", 5}, {"", 6}, {"b", 1}},
	}
	got, err := Decode(map[string]string{"ring.json": text})
	if err != nil {
		t.Fatal(err)
	}
	if difference := cmp.Diff(want, got); difference != "" {
		t.Error(difference)
	}
	if data, err := Encode(want); err != nil || data["ring.json"] != text {
		t.Errorf("written as %v, %v", data, err)
	}
}

// TestImpossibleRingIsNotWritten: all other replicas would reject each of these and treat the shard map as lost.
func TestImpossibleRingIsNotWritten(t *testing.T) {
	for name, spoil := range map[string]func(*Ring){
		"no buckets":                func(r *Ring) { r.Buckets, r.Settings.Buckets = nil, 0 },
		"negative buckets":          func(r *Ring) { r.Buckets, r.Settings.Buckets = nil, -1 },
		"too few buckets":           func(r *Ring) { r.Buckets = r.Buckets[1:] },
		"too many buckets":          func(r *Ring) { r.Buckets = append(r.Buckets, Lock{}) },
		"generation 0":              func(r *Ring) { r.Generation, r.Rebuilt = 0, 0 },
		"negative rebuilt":          func(r *Ring) { r.Rebuilt = -1 },
		"rebuilt later":             func(r *Ring) { r.Rebuilt = r.Generation + 1 },
		"negative sequence":         func(r *Ring) { r.Sequence = -1 },
		"negative validity":         func(r *Ring) { r.Settings.Validity = -1 },
		"negative takeover timeout": func(r *Ring) { r.Settings.Patience = -1 },
		"negative number":           func(r *Ring) { r.Buckets[2].Number = -1 },
		"negative leader":           func(r *Ring) { r.Leader.Number = -1 },
		"holder is not UTF-8":       func(r *Ring) { r.Buckets[2].Holder = "\xff" },
		"leader is not UTF-8":       func(r *Ring) { r.Leader.Holder = "\xff" },
		"hash is not UTF-8":         func(r *Ring) { r.Settings.Hash = "\xff" },
	} {
		t.Run(name, func(t *testing.T) {
			r := typical(4, 2)
			if _, err := Encode(r); err != nil {
				t.Fatal(err)
			}
			spoil(&r)
			data, err := Encode(r)
			wantInvalid(t, err)
			if data != nil {
				t.Errorf("written nevertheless: %v", data)
			}
		})
	}
}

func wantInvalid(t *testing.T, err error) {
	t.Helper()
	var invalid *InvalidError
	if !errors.As(err, &invalid) {
		t.Fatalf("got error %v, want an InvalidError", err)
	}
	if invalid.Reason == "" {
		t.Error("the error gives no reason")
	}
}

// TestEditedRingIsNotBelieved replaces a part of Encode's output.
func TestEditedRingIsNotBelieved(t *testing.T) {
	const good = `{"format":1,"buckets":3,"hash":"xxhash64/1","validity":"8s","patience":"12s","generation":2,` +
		`"rebuilt":1,"sequence":7,"sessions":["b","a"],"leader":[0,4],"slots":[[1,5],[-1,6],[0,1]]}`
	for name, edit := range map[string][2]string{
		"empty":                           {good, ``},
		"null":                            {good, `null`},
		"list":                            {good, `[]`},
		"cut off":                         {`]]}`, `]]`},
		"more behind it":                  {`]]}`, `]]}{}`},
		"indented":                        {`{"format"`, "{\n\"format\""},
		"later format":                    {`"format":1`, `"format":2`},
		"later format, other type":        {`"format":1,"buckets":3`, `"format":2,"buckets":"three"`},
		"no format":                       {`"format":1,`, ``},
		"unknown field":                   {`"sequence"`, `"since":"today","sequence"`},
		"repeated field":                  {`"sequence":7`, `"sequence":6,"sequence":7`},
		"other case":                      {`"sequence"`, `"Sequence"`},
		"other order":                     {`"rebuilt":1,"sequence":7`, `"sequence":7,"rebuilt":1`},
		"more buckets set":                {`"buckets":3`, `"buckets":4`},
		"fewer buckets set":               {`"buckets":3`, `"buckets":2`},
		"no buckets":                      {`[[1,5],[-1,6],[0,1]]`, `[]`},
		"validity is no duration":         {`"8s"`, `"8"`},
		"takeover timeout is no duration": {`"12s"`, `"soon"`},
		"duration in other units":         {`"8s"`, `"8000ms"`},
		"negative duration":               {`"8s"`, `"-8s"`},
		"generation 0":                    {`"generation":2,"rebuilt":1`, `"generation":0,"rebuilt":0`},
		"generation too large":            {`"generation":2`, `"generation":9223372036854775808`},
		"fraction":                        {`"sequence":7`, `"sequence":7.5`},
		"exponent":                        {`"sequence":7`, `"sequence":7e0`},
		"negative sequence":               {`"sequence":7`, `"sequence":-7`},
		"rebuilt later":                   {`"rebuilt":1`, `"rebuilt":3`},
		"negative number":                 {`[0,1]`, `[0,-1]`},
		"index too large":                 {`[0,1]`, `[2,1]`},
		"index too small":                 {`[0,1]`, `[-2,1]`},
		"leader's index too large":        {`[0,4]`, `[2,4]`},
		"lock too short":                  {`[-1,6]`, `[-1]`},
		"lock too long":                   {`[-1,6]`, `[-1,6,0]`},
		"lock is null":                    {`[-1,6]`, `null`},
		"session holds nothing":           {`["b","a"]`, `["b","a","c"]`},
		"session without a name":          {`["b","a"]`, `["b",""]`},
		"session twice":                   {`["b","a"]`, `["b","b"]`},
		"sessions in other order":         {`"sessions":["b","a"],"leader":[0,4]`, `"sessions":["a","b"],"leader":[1,4]`},
		"sessions are null": {`"sessions":["b","a"],"leader":[0,4],"slots":[[1,5],[-1,6],[0,1]]`,
			`"sessions":null,"leader":[-1,4],"slots":[[-1,5],[-1,6],[-1,1]]`},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(good, edit[0]) {
				t.Fatalf("%s is not in the text", edit[0])
			}
			edited := strings.Replace(good, edit[0], edit[1], 1)
			r, err := Decode(map[string]string{dataKey: edited})
			if err == nil {
				t.Fatalf("%s is read as %+v", edited, r)
			}
			wantInvalid(t, err)
		})
	}
	for name, data := range map[string]map[string]string{
		"nothing":   nil,
		"other key": {"ring.yaml": good},
		"more keys": {dataKey: good, "note": "do not touch"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(data)
			wantInvalid(t, err)
		})
	}
}

// TestParserErrorIsKept: the InvalidError wraps the parser's error.
func TestParserErrorIsKept(t *testing.T) {
	_, err := Decode(map[string]string{dataKey: `{"format":1,`})
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("%v does not wrap the syntax error", err)
	}
}

// TestLaterFormatIsTold: a later format is not reported as a damaged shard map.
func TestLaterFormatIsTold(t *testing.T) {
	for text, want := range map[string]int{
		`{"format":2,"buckets":"in another object"}`: 2,
		`{"format":1,"buckets":"in another object"}`: 0,
	} {
		_, err := Decode(map[string]string{dataKey: text})
		wantInvalid(t, err)
		var invalid *InvalidError
		if errors.As(err, &invalid); invalid.Format != want {
			t.Errorf("%s: format %d in the error, want %d: %v", text, invalid.Format, want, err)
		}
	}
}

// FuzzDecode: Decode either rejects any stored data with an InvalidError or would encode it identically.
func FuzzDecode(f *testing.F) {
	for _, r := range []Ring{typical(3, 2), typical(1, 1), {
		Settings: Settings{Buckets: 2}, Generation: 1, Buckets: make([]Lock, 2),
	}} {
		data, err := Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[dataKey])
	}
	f.Fuzz(func(t *testing.T, text string) {
		data := map[string]string{dataKey: text}
		r, err := Decode(data)
		if err != nil {
			wantInvalid(t, err)
			return
		}
		again, err := Encode(r)
		if err != nil || !maps.Equal(data, again) {
			t.Errorf("%v is written again as %v, %v", data, again, err)
		}
	})
}
