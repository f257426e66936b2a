package fake

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// Clones returns the clones from SetClones: see vsphere.Inventory.
func (s *Server) Clones(vsphere.GroupKey) (running []string, known bool) {
	s.mu.Lock()
	defer s.unlock()
	return s.clones, len(s.clones) == 0
}

// SetClones sets the running clones of other processes that can belong to a deleted group.
func (s *Server) SetClones(running ...string) {
	s.mu.Lock()
	defer s.unlock()
	s.clones = running
}
