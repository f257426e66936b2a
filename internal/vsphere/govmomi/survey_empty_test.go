package govmomi

import (
	"errors"
	"slices"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func TestFoldersAreEmptyIfTheyContainOnlyEmptyFolders(t *testing.T) {
	folder := func(ref, parent string, children ...vsphere.Ref) object {
		var refs types.ArrayOfManagedObjectReference
		for _, c := range children {
			refs.ManagedObjectReference = append(refs.ManagedObjectReference, toRef(c))
		}
		return object{ref: vsphere.FolderRef(ref), values: map[string]any{
			propName: ref, propParent: toRef(vsphere.FolderRef(parent)), propChildren: refs,
		}}
	}
	denied := folder("denied", "team-a")
	denied.denied = map[string]error{propChildren: errors.New("no permission")}
	at := vsphere.FolderRef
	paths, all := emptyFolders(at("root"), "[root]", []object{
		folder("root", "vm", at("team-a"), at("team-b"), at("empty")),
		folder("team-a", "root", at("shop"), at("used"), at("denied")),
		folder("shop", "team-a", at("web")),
		folder("web", "shop"),
		folder("used", "team-a", vsphere.VMRef("vm-1")),
		denied,
		folder("team-b", "root", at("hidden")),
		folder("empty", "root"),
		folder("one", "two", at("two")), // read while a person moved them
		folder("two", "one", at("one")),
	})
	if want := []string{"[root]/empty", "[root]/team-a/shop"}; !slices.Equal(paths, want) || all != 3 {
		t.Errorf("%d folders are empty, in %v; want 3 in %v", all, paths, want)
	}
}
