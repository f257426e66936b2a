package govmomi

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// writesNotes reports whether the account can write notes into VMs, according to the root folder and until vCenter refuses one.
func (s *Server) writesNotes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.privileges.notes
}

// withoutNotes disables notes until the next connection, so that a missing privilege for notes prevents no clone.
func (s *Server) withoutNotes() {
	s.mu.Lock()
	was := s.state.privileges.notes
	s.state.privileges.notes = false
	s.mu.Unlock()
	if was {
		s.log.Info("The account may not write notes into VMs: VMs are cloned without", "privilege", vsphere.PrivilegeNotes)
	}
}

// lacks reports whether vCenter refused a call or its task for lack of this privilege.
func lacks(err error, privilege string) bool {
	var known *vsphere.Error
	if asError(err, &known) {
		return known.Privilege == privilege
	}
	f, ok := is[types.BaseNoPermission](err)
	return ok && denies(err) && f.GetNoPermission().PrivilegeId == privilege
}
