package edits

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// maxValue limits a value that a field shows, in bytes. Longer values are not shown.
	maxValue = 100
	// maxField is the limit of the API for a field, in characters.
	maxField = 253
	// unset stands for a value that is absent.
	unset = "unset"
)

// Changed names the fields of spec that differ, sorted: those of spec, and of an object in spec those of the object. It compares their JSON, so
// that it finds every field. It shows the values of numbers, booleans and names. Texts, lists and deeper objects are named without values.
func Changed(old, spec *v1alpha1.VmGroupSpec) []string {
	was, is := fieldsOf(old), fieldsOf(spec)
	var changed []string
	for _, name := range namesOf(was, is) {
		before, after := object(was[name]), object(is[name])
		if before == nil && after == nil {
			changed = differ(changed, name, was[name], is[name])
			continue
		}
		if before == nil && was[name] != nil || after == nil && is[name] != nil { // one of them is no object
			changed = append(changed, name)
			continue
		}
		inner := len(changed)
		for _, child := range namesOf(before, after) {
			changed = differ(changed, name+"."+child, before[child], after[child])
		}
		if len(changed) == inner && (was[name] == nil) != (is[name] == nil) { // an empty object
			changed = append(changed, name)
		}
	}
	if more := len(changed) - v1alpha1.MaxEditFields; more > 0 {
		changed = append(changed[:v1alpha1.MaxEditFields-1], fmt.Sprintf("and %d more", more+1))
	}
	return changed
}

// fieldsOf returns the JSON of each field that is set.
func fieldsOf(spec *v1alpha1.VmGroupSpec) map[string]json.RawMessage {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil // spec came from JSON
	}
	return object(text)
}

// object returns the fields of an object, or nil for another value.
func object(text json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if len(text) == 0 || text[0] != '{' || json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
}

func namesOf(a, b map[string]json.RawMessage) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// differ appends the field if its values differ.
func differ(changed []string, name string, was, is json.RawMessage) []string {
	if string(was) == string(is) {
		return changed
	}
	before, shown := value(was)
	after, both := value(is)
	if !shown || !both {
		return append(changed, untrusted.Text(name, maxField))
	}
	return append(changed, untrusted.Text(fmt.Sprintf("%s %s→%s", name, before, after), maxField))
}

// value returns a value in a form to show, or false if it is not shown.
func value(text json.RawMessage) (string, bool) {
	if len(text) == 0 {
		return unset, true
	}
	switch text[0] {
	case '{', '[':
		return "", false
	case '"':
		var s string
		if json.Unmarshal(text, &s) != nil {
			return "", false
		}
		s = untrusted.Name(s)
		return s, len(s) <= maxValue && !strings.Contains(s, "→")
	}
	return string(text), len(text) <= maxValue
}
