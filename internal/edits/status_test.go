package edits

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestEditsOfAStatus(t *testing.T) {
	var list []v1alpha1.Edit
	add := func(generation int64, user string) bool {
		var changed bool
		list, changed = Record(list, v1alpha1.Edit{Generation: generation, User: user})
		return changed
	}
	shown := func() string {
		all := make([]string, 0, len(list))
		for _, e := range list {
			all = append(all, fmt.Sprint(e.Generation, e.User))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		generation int64
		user       string
		changed    bool
		want       string
	}{
		{1, "a", true, "1a"}, {3, "a", true, "1a 3a"}, {2, "b", true, "1a 2b 3a"}, {2, "b", false, "1a 2b 3a"},
		{3, "b", true, "1a 2b 3"}, {3, "a", false, "1a 2b 3"}, {3, "c", false, "1a 2b 3"},
		{4, "a", true, "1a 2b 3 4a"}, {6, "a", true, "1a 2b 3 4a 6a"}, {7, "a", true, "2b 3 4a 6a 7a"}, {1, "a", false, "2b 3 4a 6a 7a"},
	} {
		if changed := add(c.generation, c.user); changed != c.changed || shown() != c.want {
			t.Errorf("after %d of %s: changed %t, %s; want %s", c.generation, c.user, changed, shown(), c.want)
		}
	}
	if Records(list, v1alpha1.Edit{Generation: 3, User: "a"}) || !Records(list, v1alpha1.Edit{Generation: 7, User: "a"}) {
		t.Error("which edits are recorded")
	}
}

func TestNotes(t *testing.T) {
	for want, e := range map[string]v1alpha1.Edit{
		"alice@example.com (kubectl-edit) changed replicas 2→5 in generation 7": {Generation: 7, User: "alice@example.com", Manager: "kubectl-edit", Fields: []string{"replicas 2→5"}},
		"alice (kubectl-create) created the VmGroup":                            {Generation: 1, User: "alice", Manager: "kubectl-create"},
		`"bob created it; alice" changed cpu 2→4, paused in generation 2`:       {Generation: 2, User: "bob created it; alice", Fields: []string{"cpu 2→4", "paused"}},
	} {
		if got := Note(e); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
