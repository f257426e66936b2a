package govmomi

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

// readEmpty finds the folders below the root folder that contain nothing but folders.
func (s *surveyor) readEmpty(ctx context.Context, r *survey.Reading) error {
	if s.facts.Places == nil || !s.facts.Places.FolderMade {
		return nil
	}
	folders, err := contained(ctx, s.conn.client, s.home, []types.PropertySpec{
		{Type: vsphere.TypeFolder, PathSet: []string{propName, propParent, propChildren}},
	})
	if err == nil {
		r.Empty, r.EmptyFolders = emptyFolders(s.home, s.facts.Places.Folder, folders)
	}
	return err
}

// emptyFolders returns the paths of the uppermost folders below root that contain nothing but folders, and the number of all of them. Folders whose content
// is not shown are none of them.
func emptyFolders(root vsphere.Ref, path string, folders []object) (uppermost []string, all int) {
	t, listed, empty := newTree(root), map[vsphere.Ref]object{}, map[vsphere.Ref]bool{}
	for _, f := range folders {
		listed[f.ref] = f
		t.add(f.ref, f.refOf(propParent), f.text(propName))
	}
	var isEmpty func(vsphere.Ref) bool
	isEmpty = func(ref vsphere.Ref) bool {
		f, is := listed[ref]
		if is, judged := empty[ref]; judged {
			return is
		}
		empty[ref] = false // reads of different times can have linked folders into a cycle
		empty[ref] = is && len(f.denied) == 0 && !slices.ContainsFunc(f.refsOf(propChildren), func(child vsphere.Ref) bool { return !isEmpty(child) })
		return empty[ref]
	}
	for _, f := range folders {
		if f.ref == root || !isEmpty(f.ref) {
			continue
		}
		all++
		if above := f.refOf(propParent); above == root || !isEmpty(above) {
			uppermost = append(uppermost, path+t.path(f.ref))
		}
	}
	slices.Sort(uppermost)
	return uppermost, all
}
