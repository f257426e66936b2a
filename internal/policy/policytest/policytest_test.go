package policytest

import (
	"strings"
	"testing"
)

func TestTableIsLoaded(t *testing.T) {
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(string(table), "\n- name: "); len(cases) != want {
		t.Errorf("%d cases, the file has %d", len(cases), want)
	}
}

func TestTableRefusesMistakes(t *testing.T) {
	whole := table
	t.Cleanup(func() { table = whole })
	for _, mistake := range []string{
		`[{name: a, sepc: {}}]`,
		`[{name: a, spec: {cpus: 1}}]`,
		`[{name: a, policies: {p: {limit: {}}}}]`,
		`[{name: a, name: b}]`,
		`[{name: a}, {name: a}]`,
		`[{}]`,
		`[{name: a, scale: 3}]`,
		`[{name: a, old: {cpu: 1}, scale: 3, spec: {}}]`,
		`[{name: a, deleting: true}]`,
		`[{name: a, hubDown: maybe}]`,
		`[{name: a, hubDown: refused}]`,
	} {
		table = []byte(mistake)
		if cases, err := Load(); err == nil {
			t.Errorf("%s is read as %+v", mistake, cases)
		}
	}
}

func TestVerdictWithoutHub(t *testing.T) {
	for _, c := range []struct {
		c          Case
		defaulting bool
		verdict    Verdict
		message    string
	}{
		{Case{HubDown: Same}, true, Allowed, ""},
		{Case{HubDown: Same, Refused: []string{"a", "b"}}, true, Refused, "a"},
		{Case{HubDown: Same, Refused: []string{"a", "b"}, HubDownMessage: "b"}, true, Refused, "b"},
		{Case{HubDown: Allowed, Refused: []string{"a"}}, true, Allowed, ""},
		{Case{HubDown: Refused, HubDownMessage: "b"}, true, Refused, "b"},
		{Case{HubDown: Same, Filled: map[string]any{"spec.cpu": 1}}, true, Allowed, ""},
		{Case{HubDown: Same, Filled: map[string]any{"spec.cpu": 1}, Refused: []string{"a"}}, false, Refused, ""},
		{Case{HubDown: Same, Filled: map[string]any{"spec.vcenter": "x"}}, false, Allowed, ""},
		{Case{HubDown: Same, Old: map[string]any{"vcenter": "x"}, Filled: map[string]any{"spec.vcenter": "x"}}, false, Refused, ""},
		{Case{HubDown: Same, Old: map[string]any{"vcenter": "x"}, Filled: map[string]any{"spec.vcenter": "x"}}, true, Allowed, ""},
	} {
		if verdict, message := c.c.WithoutHub(c.defaulting); verdict != c.verdict || message != c.message {
			t.Errorf("%+v: %s %q, want %s %q", c, verdict, message, c.verdict, c.message)
		}
	}
}
