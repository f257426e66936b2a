package fake

import (
	"fmt"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Kinds of calls that are not operations on a VM.
const (
	OpEnsureFolder  vsphere.OperationKind = "EnsureFolder"
	OpDestroyFolder vsphere.OperationKind = "DestroyFolder"
)

// Entry is one mutating call that passed the fence.
type Entry struct {
	Kind vsphere.OperationKind
	// Group is empty for folders.
	Group   vsphere.GroupKey
	Ordinal int32
	// Name of the VM, or path of the folder.
	Name string
	VM   vsphere.Ref
	// Budgeted is true if a slot was reserved for the call. It is false for folders, and for calls without effect.
	Budgeted bool
	// Err is the call's error.
	Err error
}

// String returns for example "Clone web-0", or "Clone web-0: NameTaken" for a failed call.
func (e Entry) String() string {
	s := fmt.Sprintf("%s %s", e.Kind, e.Name)
	if e.Err != nil {
		s += ": " + string(vsphere.KindOf(e.Err))
	}
	return s
}

// Journal returns all mutating calls that passed the fence, in order, with any result.
func (s *Server) Journal() []Entry {
	s.mu.Lock()
	defer s.unlock()
	return slices.Clone(s.journal)
}

// Calls returns the entries of the journal of the given kinds as strings.
func (s *Server) Calls(kinds ...vsphere.OperationKind) []string {
	var calls []string
	for _, e := range s.Journal() {
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			calls = append(calls, e.String())
		}
	}
	return calls
}

// ClearJournal removes all entries.
func (s *Server) ClearJournal() {
	s.mu.Lock()
	defer s.unlock()
	s.journal = nil
}
