package group

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// longestNote limits the note of a VM, in bytes.
const longestNote = 1024

// Note returns the note in vCenter of a VM that is cloned for the group. It does not change if another group adopts the VM.
func (s *Snapshot) Note(vm string) string {
	return untrusted.Text(fmt.Sprintf("%s was made for VmGroup %s in namespace %s of member cluster %s by the VmGroup operator. Change or remove it there: "+
		"the operator replaces a VM of the group that is deleted here.", untrusted.Name(vm), untrusted.Name(s.Group.Name), untrusted.Name(s.Group.Namespace),
		untrusted.Name(s.Member)), longestNote)
}
