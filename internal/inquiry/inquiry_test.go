package inquiry

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func TestAnAnswerArrivesAmongOtherWarnings(t *testing.T) {
	want := Answer{Plan: Plan{Adds: 2, Removes: 1, Removed: []string{"web-2"}, Waits: []string{`it says "wait"`}}, Notes: []string{"a\\b"}}
	got, others, ok := Parse([]string{"one", want.Warning(), "two"})
	if !ok || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(others, []string{"one", "two"}) {
		t.Errorf("%+v, %q", got, others)
	}
	for _, not := range [][]string{nil, {"one"}, {prefix}, {prefix + "{"}, {" " + want.Warning()}} {
		if _, others, ok := Parse(not); ok || len(others) != len(not) {
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
	if got, _, ok := Parse([]string{text}); len(text) > 4000 || !ok || got.Plan.Removes != 500 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestAnAnswerNamesTheFirstOfManyVMs(t *testing.T) {
	a := Answer{Plan: Plan{Removes: 50}}
	for i := range 50 {
		a.Plan.Removed = append(a.Plan.Removed, fmt.Sprint("web-", i))
	}
	if got, _, _ := Parse([]string{a.Warning()}); len(got.Plan.Removed) != names || len(a.Plan.Removed) != 50 {
		t.Errorf("%d names, and %d are left in the answer itself", len(got.Plan.Removed), len(a.Plan.Removed))
	}
}
