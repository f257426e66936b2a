package share

import "testing"

func TestWhatCannotBeUnderstoodIsRefused(t *testing.T) {
	for _, text := range []string{
		"", "x", "[]", `{"n":"1"}`, `{"vcenters":{"v":{"u":-1}}}`, `{"vcenters":{"v":{"d":2000000}}}`,
		`{"vcenters":{"v":{"h":{"h":{"u":-1}}}}}`, `{"vcenters":{"v":{"u":1e30}}}`,
	} {
		if _, err := decodeClaims(text); err == nil {
			t.Errorf("claims %q are taken", text)
		}
	}
	for _, text := range []string{"", "x", `{"sessions":{"s":{"v":{"t":-1}}}}`, `{"sessions":{"s":{"v":{"h":{"h":-1}}}}}`} {
		if _, err := decodeGrants(text); err == nil {
			t.Errorf("grants %q are taken", text)
		}
	}
}

func TestTextIsCompact(t *testing.T) {
	c := claims{Number: 3, VCenters: map[string]usage{"v": {Demand: 2, Hosts: map[string]hostUsage{"h": {Using: 1}}}}}
	if got, want := encode(c), `{"n":3,"vcenters":{"v":{"d":2,"h":{"h":{"u":1}}}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	g := grants{Term: 1, Seq: 2, Sessions: map[string]map[string]slots{"s": {"v": {}, "w": {Tasks: 4}}}}
	if got, want := encode(g), `{"term":1,"seq":2,"sessions":{"s":{"v":{},"w":{"t":4}}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
