package inquiry

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAnAnswerArrivesAmongOtherWarnings(t *testing.T) {
	want := Answer{Plan: Plan{Adds: 2, Removes: 1, Removed: []string{"web-2"}, Waits: []string{`it says "wait"`}}, Notes: []string{"a\\b"}}
	got, others, ok := Parse[Answer]([]string{"one", want.Warning(), "two"})
	if !ok || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(others, []string{"one", "two"}) {
		t.Errorf("%+v, %q", got, others)
	}
	for _, not := range [][]string{nil, {"one"}, {prefix}, {prefix + "{"}, {" " + want.Warning()}} {
		if _, others, ok := Parse[Answer](not); ok || len(others) != len(not) {
			t.Errorf("%q is an answer", not)
		}
	}
}

func TestALongAnswerKeepsItsNumbers(t *testing.T) {
	a := Answer{Plan: Plan{Removes: 500}}
	for i := range 500 {
		a.Plan.Removed = append(a.Plan.Removed, fmt.Sprint(strings.Repeat("ä", 250), i))
		a.Plan.Waits, a.Notes = append(a.Plan.Waits, "wait"), append(a.Notes, "note")
	}
	text := a.Warning()
	if got, _, ok := Parse[Answer]([]string{text}); len(text) > 4000 || !ok || got.Plan.Removes != 500 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestAnAnswerNamesTheFirstOfManyVMs(t *testing.T) {
	a := Answer{Plan: Plan{Removes: 50}}
	for i := range 50 {
		a.Plan.Removed = append(a.Plan.Removed, fmt.Sprint("web-", i))
	}
	if got, _, _ := Parse[Answer]([]string{a.Warning()}); len(got.Plan.Removed) != names || len(a.Plan.Removed) != 50 {
		t.Errorf("%d names, and %d are left in the answer itself", len(got.Plan.Removed), len(a.Plan.Removed))
	}
}

func TestALongAnswerAboutANamespaceSaysThatThereIsMore(t *testing.T) {
	n := Namespace{VCenter: "default"}
	for i := range 200 {
		n.VCenters, n.Quotas = append(n.VCenters, fmt.Sprint("vc-", i)), append(n.Quotas, Quota{Policy: fmt.Sprint(strings.Repeat("q", 63), i), VMs: &Amount{new(int64(1)), 2}})
		n.Templates = append(n.Templates, Template{Name: fmt.Sprint("debian-", i), Path: fmt.Sprint("/DC0/vm/debian-", i)})
	}
	text := n.Warning()
	got, _, ok := Parse[Namespace]([]string{text})
	if !ok || len(text) > 4000 || !got.More || got.VCenter != "default" || len(got.VCenters) != 200 || len(got.Templates) > 0 {
		t.Errorf("%d bytes: %+v", len(text), got)
	}
	n.Quotas, n.VCenters = nil, nil
	if got, _, _ := Parse[Namespace]([]string{n.Warning()}); !got.More || len(got.Templates) < 40 || got.Templates[0] != n.Templates[0] {
		t.Errorf("%+v", got)
	}
	if got, _, ok := Parse[Namespace]([]string{Namespace{VCenter: "v"}.Warning()}); !ok || got.More {
		t.Errorf("%+v", got)
	}
}
