package sim

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// longestName is vCenter's limit for the name of a VM or folder, in characters.
const longestName = 80

// escaped escapes three characters of a name, as vCenter stores it.
var escaped = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")

// sameName compares names in one folder as vCenter does. It ignores case, which is known from practice ("The name 'VM1' already exists"
// beside vm1), but not from the API reference.
func sameName(stored, wanted string) bool {
	return strings.EqualFold(stored, wanted) || strings.EqualFold(stored, escaped.Replace(wanted))
}

// checkName refuses names that no entity can have.
func checkName(name string) types.BaseMethodFault {
	if n := len([]rune(name)); n == 0 || n > longestName {
		return &types.InvalidName{Name: name}
	}
	return nil
}

// checkFree refuses a name that another object in the folder has. The caller holds the tree.
func checkFree(ctx *simulator.Context, folder *simulator.Folder, name string, self types.ManagedObjectReference) types.BaseMethodFault {
	for _, ref := range children(ctx, folder) {
		e, ok := ctx.Map.Get(ref).(mo.Entity)
		if ok && ref != self && sameName(e.Entity().Name, name) {
			return &types.DuplicateName{Name: name, Object: ref}
		}
	}
	return nil
}

// children returns a copy of a folder's list of children.
func children(ctx *simulator.Context, folder *simulator.Folder) (out []types.ManagedObjectReference) {
	ctx.WithLock(folder, func() { out = slices.Clone(folder.ChildEntity) })
	return out
}

// folderAt returns the folder with a reference, if it exists and is an ordinary one.
func folderAt(ctx *simulator.Context, ref *types.ManagedObjectReference) (*simulator.Folder, bool) {
	if ref == nil {
		return nil, false
	}
	f, ok := ctx.Map.Get(*ref).(*simulator.Folder)
	return f, ok
}
