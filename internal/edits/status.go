package edits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Record adds an edit to those of a status. It returns false if status does not change: the edit is known, or older than the ones that status
// keeps. If another replica recorded another user for the same generation, the edit has no user: one of the two was not stored.
func Record(list []v1alpha1.Edit, e v1alpha1.Edit) ([]v1alpha1.Edit, bool) {
	list = slices.Clone(list)
	at := slices.IndexFunc(list, func(o v1alpha1.Edit) bool { return o.Generation == e.Generation })
	switch {
	case at < 0:
		list = append(list, e)
	case list[at].User == "" || sameUser(list[at], e):
		return list, false
	default:
		list[at].User, list[at].Manager = "", ""
	}
	slices.SortStableFunc(list, func(a, b v1alpha1.Edit) int { return cmp.Compare(a.Generation, b.Generation) })
	list = list[max(0, len(list)-v1alpha1.MaxEdits):]
	return list, list[0].Generation <= e.Generation
}

// Records reports whether the edits of a status have this one.
func Records(list []v1alpha1.Edit, e v1alpha1.Edit) bool {
	return slices.ContainsFunc(list, func(o v1alpha1.Edit) bool { return o.Generation == e.Generation && sameUser(o, e) })
}

func sameUser(a, b v1alpha1.Edit) bool { return a.User == b.User && a.Manager == b.Manager }

// Note returns the note of the event of an edit.
func Note(e v1alpha1.Edit) string {
	by := untrusted.Name(e.User)
	if e.Manager != "" {
		by += " (" + untrusted.Name(e.Manager) + ")"
	}
	if e.Generation == 1 {
		return by + " created the VmGroup"
	}
	return fmt.Sprintf("%s changed %s in generation %d", by, strings.Join(e.Fields, ", "), e.Generation)
}
