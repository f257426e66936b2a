package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestWhatIsWrittenOfFieldsThatMayBeFilledIn(t *testing.T) {
	for object, want := range map[string]string{
		`{}`:                      "",
		`{"spec":{}}`:             "",
		`{"spec":null}`:           "",
		`{"spec":{"cpu":null}}`:   "",
		`{"spec":{"vcenter":""}}`: "",
		`{"spec":{"vcenter":"","cpu":0,"memory":0,"template":""}}`: "spec.cpu spec.memory spec.template",
		`{"spec":{"CPU":0,"Template":"","replicas":0}}`:            "",
		`no object`: "",
	} {
		var is []string
		written := writtenIn([]byte(object))
		for _, field := range slices.Sorted(maps.Keys(written)) {
			if written[field] {
				is = append(is, field)
			}
		}
		if got := strings.Join(is, " "); got != want {
			t.Errorf("of %s is written %q, want %q", object, got, want)
		}
	}
}

func TestInventedFieldsOfASpecCostNothing(t *testing.T) {
	var object strings.Builder
	object.WriteString(`{"spec":{"cpu":0`)
	for i := range 300_000 {
		fmt.Fprintf(&object, `,"%x":1`, i)
	}
	object.WriteString("}}")
	raw := []byte(object.String())
	if n := testing.AllocsPerRun(1, func() { writtenIn(raw) }); n > 1000 {
		t.Errorf("they cost %v allocations", n)
	}
}
