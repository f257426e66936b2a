package govmomi

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// UnseenParentError says that the account sees an object and not what is above it, so that the object's path is not known.
type UnseenParentError struct {
	// Path of the object, as far as it is known, and Above it what the account does not see. Path is empty if that is the object itself.
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

// explainUnseen says of a name that was not found that an object may have it whose path is not known.
func (c *content) explainUnseen(err error, kind, name string, paths []string) error {
	if vsphere.KindOf(err) != vsphere.KindNotFound {
		return err
	}
	wanted := inventoryname.Base(name)
	for _, path := range paths {
		base := inventoryname.Base(path)
		// The name of a cluster stands for the cluster's pool, and an empty name for the only pool.
		ofCluster := kind == kindPool && base == "resources"
		if !inventoryname.Truncated(path) || base != wanted && name != "" && !ofCluster {
			continue
		}
		return &vsphere.Error{Kind: vsphere.KindPermission, Op: fmt.Sprintf("find %s %q", kind, name), Object: c.unseen[path], Privilege: vsphere.PrivilegeRead,
			Err: &UnseenParentError{Path: path, Above: c.unseen[path]}}
	}
	return err
}

// noteUnseen remembers what is above objects whose paths are not known.
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
