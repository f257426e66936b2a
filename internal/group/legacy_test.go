package group

import (
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A user who abandons the VMs of the original operator wants them to stay, including those adopted a moment ago.
func TestADeletedGroupThatAbandonsVMsKeepsThoseThatItHasAdopted(t *testing.T) {
	for story, c := range map[string]struct {
		change func(*Snapshot)
		want   Step
	}{
		"VMs were adopted":   {func(*Snapshot) {}, Report},
		"they are released":  {annotation(v1alpha1.ReleaseAnnotation, "u"), RemoveLegacyFinalizer},
		"they are confirmed": {annotation(v1alpha1.ConfirmDeletionAnnotation, "u"), RemoveLegacyFinalizer},
		"none was adopted":   {func(s *Snapshot) { s.Group.Status.VMs = nil; s.See(vsphere.Observation{Complete: true}) }, RemoveLegacyFinalizer},
		"status was wiped":   {func(s *Snapshot) { s.Group.Status.VMs = nil }, Report},
		"the group lives":    {func(s *Snapshot) { s.Group.DeletionTimestamp = nil }, RemoveLegacyFinalizer},
		"it was never ours":  {func(s *Snapshot) { s.Group.Finalizers = []string{v1alpha1.LegacyFinalizer} }, RemoveLegacyFinalizer},
	} {
		s := oldGroup()
		s.Group.Finalizers = append(s.Group.Finalizers, v1alpha1.LegacyFinalizer)
		annotation(v1alpha1.AdoptAnnotation, v1alpha1.AdoptAbandon)(s)
		c.change(s)
		if d := Decide(s); d.Step != c.want {
			t.Errorf("%s: the step is %s, want %s", story, d.Step, c.want)
		}
	}
}

func TestANameOfTheOriginalOperatorIsOfOneGroup(t *testing.T) {
	for name, group := range map[string]string{
		"web-replica-abcdefgh":                        "web",
		"b-x-replica-abcdefgh":                        "b-x",
		"a.b-replica-zzzzzzzz":                        "a.b",
		"web-replica-abcdefgh-replica-abcdefgh":       "web-replica-abcdefgh",
		"web-replica--replica-abcdefgh":               "web-replica-",
		strings.Repeat("w", 63) + "-replica-abcdefgh": strings.Repeat("w", 63),
		"web-replica-abcdefg":                         "",
		"web-replica-abcdefghi":                       "",
		"web-replica-abcdefg0":                        "",
		"web-replica-abcdefgH":                        "",
		"WEB-replica-abcdefgh":                        "WEB",
		"web-Replica-abcdefgh":                        "",
		"web-replica-abcdef\u00e4":                    "",
		"web-replica-abcd-fgh":                        "",
		"web-replica-abcdefgh ":                       "",
		" web-replica-abcdefgh":                       " web",
		"web%2freplica-abcdefgh":                      "",
		"web-0":                                       "",
		"web":                                         "",
		"":                                            "",
		"-replica-abcdefgh":                           "",
	} {
		for _, is := range []string{"web", "x", "b-x", "a.b", "replica", "web-replica", "web-replica-", "web-replica-abcdefgh", strings.Repeat("w", 63), strings.Repeat("w", 62)} {
			if got, want := legacyName(is, name), is == group; got != want {
				t.Errorf("%q is a name of group %q: %t", name, is, got)
			}
		}
	}
}

// A VM of another size has the revision of its own, so it is outdated. Its sockets count only if spec sets them.
func TestAVMToAdoptHasTheShapeOfSpecInItsOwnSize(t *testing.T) {
	vm := vsphere.VM{CPU: 4, MemoryMiB: 3000, HotAdd: vsphere.HotAdd{CoresPerSocket: 2}}
	for story, spec := range map[string]v1alpha1.VmGroupSpec{
		"sockets of the template": {CPU: 1, Memory: 1, Template: "debian"},
		"sockets of spec":         {CPU: 1, Memory: 1, Template: "debian", CoresPerSocket: 1},
	} {
		want := v1alpha1.VMShape{CPU: 4, Memory: 3, Template: "debian", CoresPerSocket: 2 * spec.CoresPerSocket}
		if got := sizedAs(plan.ShapeOf(spec), &vm); got.VMShape != want {
			t.Errorf("%s: the shape is %+v, want %+v", story, got, want)
		}
	}
}
