package govmomi

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// UnseenParentError reports that the account can see an object but not its parents, so that the object's path is unknown.
type UnseenParentError struct {
	// Path is the known part of the object's path, and Above the object that the account cannot see. If Path is empty, that is the
	// object itself.
	Path  string
	Above vsphere.Ref
}

func (e *UnseenParentError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("the operator's account does not see %s; give the account the role Read-only (privilege %s) there", e.Above, vsphere.PrivilegeRead)
	}
	return fmt.Sprintf("the operator's account does not see what is above %s (%s), so that its path is not known; give the account the role Read-only (privilege %s) there",
		untrusted.Name(e.Path), e.Above, vsphere.PrivilegeRead)
}

// explainUnseen adds to a not-found error that an object with an unknown path can have the name.
func (c *content) explainUnseen(err error, kind, name string, paths []string) error {
	if vsphere.KindOf(err) != vsphere.KindNotFound {
		return err
	}
	wanted := inventoryname.Base(name)
	for _, path := range paths {
		base := inventoryname.Base(path)
		// The name of a cluster refers to the cluster's pool, and an empty name to the only pool.
		ofCluster := kind == kindPool && base == "resources"
		if !inventoryname.Truncated(path) || base != wanted && name != "" && !ofCluster {
			continue
		}
		return &vsphere.Error{Kind: vsphere.KindPermission, Op: fmt.Sprintf("find %s %q", kind, name), Object: c.unseen[path], Privilege: vsphere.PrivilegeRead,
			Err: &UnseenParentError{Path: path, Above: c.unseen[path]}}
	}
	return err
}

// noteUnseen remembers the invisible parents of objects with unknown paths.
func (c *content) noteUnseen(t *tree, refs map[vsphere.Ref]string) {
	for ref, path := range refs {
		if !inventoryname.Truncated(path) {
			continue
		}
		if c.unseen == nil {
			c.unseen = map[string]vsphere.Ref{}
		}
		c.unseen[path] = t.unseen(ref)
	}
}
