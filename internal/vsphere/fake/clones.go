package fake

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Clones returns the clones that SetClones has set: see vsphere.Inventory.
func (s *Server) Clones(vsphere.GroupKey) (running []string, known bool) {
	s.mu.Lock()
	defer s.unlock()
	return s.clones, len(s.clones) == 0
}

// SetClones says which clones of other processes run that may be of a group that is gone.
func (s *Server) SetClones(running ...string) {
	s.mu.Lock()
	defer s.unlock()
	s.clones = running
}
