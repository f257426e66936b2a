package group

import (
	"fmt"

	"github.com/codeconnect/vmgroup-operator/internal/foreigntext"
)

// longestNote bounds the note of a VM, in bytes.
const longestNote = 1024

// Note is what a VM that is cloned for the group says in vCenter about itself. It stays as it is if another group adopts the VM.
func (s *Snapshot) Note(vm string) string {
	return foreigntext.Text(fmt.Sprintf("%s was made for VmGroup %s in namespace %s of member cluster %s by the VmGroup operator. Change or remove it there: "+
		"the operator replaces a VM of the group that is deleted here.", foreigntext.Name(vm), foreigntext.Name(s.Group.Name), foreigntext.Name(s.Group.Namespace),
		foreigntext.Name(s.Member)), longestNote)
}
