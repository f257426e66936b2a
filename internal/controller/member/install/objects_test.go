package install

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestCovers(t *testing.T) {
	type object = map[string]any
	wanted := object{"a": int64(1), "list": []any{object{"x": "y"}}, "empty": object{}, "none": []any{}, "null": nil}
	for _, test := range []struct {
		story     string
		installed any
		want      bool
	}{
		{"with defaults", object{"a": int64(1), "list": []any{object{"x": "y", "default": true}}, "more": "z"}, true},
		{"another value", object{"a": int64(2), "list": []any{object{"x": "y"}}}, false},
		{"a missing field", object{"list": []any{object{"x": "y"}}}, false},
		{"a longer list", object{"a": int64(1), "list": []any{object{"x": "y"}, object{}}}, false},
		{"another value in a list", object{"a": int64(1), "list": []any{object{"x": "z"}}}, false},
		{"nothing", nil, false},
	} {
		if got := covers(test.installed, wanted); got != test.want {
			t.Errorf("%s: %v", test.story, got)
		}
	}
}

func TestVersionOfIgnoresStatusWhereThereIsAGeneration(t *testing.T) {
	object := &metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "5"}
	first := versionOf(object)
	object.ResourceVersion = "6"
	if versionOf(object) != first {
		t.Error("a write of status looks like a change")
	}
	object.Generation = 2
	if versionOf(object) == first {
		t.Error("a change is not seen")
	}
	plain := &metav1.ObjectMeta{UID: "u", ResourceVersion: "5"}
	first = versionOf(plain)
	if plain.ResourceVersion = "6"; versionOf(plain) == first {
		t.Error("a change of an object without a generation is not seen")
	}
}

func TestVersionOfAnObjectIsShortWhateverTheMemberAnswers(t *testing.T) {
	for _, object := range []*metav1.ObjectMeta{
		{UID: types.UID(strings.Repeat("u", 4<<20)), ResourceVersion: strings.Repeat("9", 4<<20)},
		{UID: types.UID(strings.Repeat("u", 4<<20)), Generation: 1},
	} {
		if n := len(versionOf(object)); n > 200 {
			t.Errorf("it has %d bytes", n)
		}
	}
}
