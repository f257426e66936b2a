package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// mostNamed is how many datastores a message lists.
const mostNamed = 3

// checkReach refuses a template whose disks stay on a datastore that no host of the resource pool reaches. If no datastore is named, a full clone stays on
// that of its template. A linked clone reads its template's datastore in any case.
func (r resolver) checkReach(names *group.Names, spec v1alpha1.VmGroupSpec) {
	there, has := names.Placement.Compute.Datastores, names.Template.Datastores
	if len(there) == 0 || len(has) == 0 || slices.ContainsFunc(has, func(path string) bool { return slices.Contains(there, path) }) {
		return
	}
	if named := !names.Placement.Datastore.IsZero(); named && spec.CloneMode != v1alpha1.CloneLinked {
		names.Linked = false // LinkedPreferred makes a full clone if it cannot link
		return
	}
	what := fmt.Sprintf("no host of %s, where the resource pool is, has a datastore of template %s", untrusted.Name(names.Placement.Compute.Path), untrusted.Name(names.Template.Path))
	instead := fmt.Sprintf("Set spec.placement.datastore to a datastore of these hosts, for example %s, or choose another resource pool", enumerated(there))
	if spec.CloneMode == v1alpha1.CloneLinked {
		instead = "Use cloneMode Full with a datastore of theirs, or another resource pool"
	}
	block(names, v1alpha1.ReasonPlacementImpossible, true, "spec.placement and the defaults of the VCenter: in VCenter %q: %s (%s). %s", r.vcenter, what, enumerated(has), instead)
}

func enumerated(paths []string) string {
	shown := make([]string, 0, mostNamed)
	for _, path := range paths[:min(len(paths), mostNamed)] {
		shown = append(shown, untrusted.Name(path))
	}
	return strings.Join(shown, ", ")
}

// checkTemplate refuses a template from which no VM can be cloned.
func checkTemplate(names *group.Names) {
	why := names.Template.Unfit
	if names.Linked {
		why = names.Template.UnfitLinked
	}
	if why != "" {
		block(names, v1alpha1.ReasonTemplateUnfit, true, "spec.template: %s: %s", untrusted.Name(names.Template.Path), why)
	}
}

// checkDisk refuses a root disk that no clone of the template can have.
func checkDisk(names *group.Names, sizeGiB int32) {
	switch has := names.Template.RootDiskBytes; {
	case sizeGiB == 0:
	case names.Linked:
		block(names, v1alpha1.ReasonNotSupported, true, "spec.disks.root.sizeGiB is %d and spec.cloneMode is Linked, but vCenter does not grow the disk of a linked clone; set spec.cloneMode to Full or LinkedPreferred", sizeGiB)
	case int64(sizeGiB)<<30 < has:
		block(names, v1alpha1.ReasonDiskTooSmall, true, "spec.disks.root.sizeGiB is %d, but the first disk of template %s has %.6g GiB, and a clone's disk cannot be smaller; set at least %d, or remove the field unless a quota limits storage",
			sizeGiB, untrusted.Name(names.Template.Path), float64(has)/(1<<30), (has+1<<30-1)>>30)
	}
}

// checkDataDisks refuses more data disks than a clone of the template has room for.
func checkDataDisks(names *group.Names, n int) {
	has := names.Template
	room := has.DataDisks
	if names.Linked {
		room = has.DataDisksLinked
	}
	if has.RootDiskBytes > 0 && n > room {
		block(names, v1alpha1.ReasonTooManyDisks, true, "spec.disks.data has %d disks, but the controller of the first disk of template %s has room for %d more, and the operator adds no controller; remove some, or remove other devices from the template",
			n, untrusted.Name(has.Path), room)
	}
}
