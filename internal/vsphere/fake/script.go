package fake

import (
	"errors"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// script holds the scripted failures of a test.
type script struct {
	failSubmit, failTask map[vsphere.OperationKind][]*vsphere.Error
	// lost holds, for each reply to lose, whether the request takes effect.
	lost   map[vsphere.OperationKind][]bool
	hidden map[vsphere.Ref]bool
	// unreadVMs are the VMs whose configuration is not shown.
	unreadVMs map[vsphere.Ref]bool

	delayConfirmations bool
	// suspects are objects that an observation missed, with the group to notify. confirmed are those confirmed as deleted.
	suspects  map[vsphere.Ref]vsphere.GroupKey
	confirmed map[vsphere.Ref]bool
}

func newScript() script {
	return script{
		failSubmit: map[vsphere.OperationKind][]*vsphere.Error{}, failTask: map[vsphere.OperationKind][]*vsphere.Error{},
		lost: map[vsphere.OperationKind][]bool{}, hidden: map[vsphere.Ref]bool{}, unreadVMs: map[vsphere.Ref]bool{},
		suspects: map[vsphere.Ref]vsphere.GroupKey{}, confirmed: map[vsphere.Ref]bool{},
	}
}

// FailSubmit makes vCenter refuse the next n calls of a kind. The failures are observed like those of a real vCenter.
func (s *Server) FailSubmit(kind vsphere.OperationKind, n int, err *vsphere.Error) {
	s.mu.Lock()
	defer s.unlock()
	for range n {
		s.failSubmit[kind] = append(s.failSubmit[kind], err)
	}
}

// FailTask makes vCenter accept the next n calls of a kind and their tasks fail.
func (s *Server) FailTask(kind vsphere.OperationKind, n int, err *vsphere.Error) {
	s.mu.Lock()
	defer s.unlock()
	for range n {
		s.failTask[kind] = append(s.failTask[kind], err)
	}
}

// Heal ends FailSubmit and FailTask for a kind.
func (s *Server) Heal(kind vsphere.OperationKind) {
	s.mu.Lock()
	defer s.unlock()
	delete(s.failSubmit, kind)
	delete(s.failTask, kind)
}

// LoseReply drops the replies of the next n calls of a kind. An operation on a VM is in flight with an unknown outcome until Step.
// If happens is true, it then takes effect, otherwise it disappears without a failure. A call for a folder takes effect at once if
// happens is true. It returns an error with OutcomeUnknown in both cases.
func (s *Server) LoseReply(kind vsphere.OperationKind, n int, happens bool) {
	s.mu.Lock()
	defer s.unlock()
	for range n {
		s.lost[kind] = append(s.lost[kind], happens)
	}
}

// pop removes and returns the next scripted value of a kind.
func pop[T any](m map[vsphere.OperationKind][]T, kind vsphere.OperationKind) (next T, ok bool) {
	if len(m[kind]) == 0 {
		return next, false
	}
	next, m[kind] = m[kind][0], m[kind][1:]
	return next, true
}

// Disconnect makes the vCenter unreachable until Reconnect: calls fail and observations are incomplete. A nil err means a
// transient error.
func (s *Server) Disconnect(err *vsphere.Error) {
	if err == nil {
		err = fail(vsphere.KindTransient, "connect to vCenter", "connection refused")
	}
	s.change(func() { s.err, s.since = err, s.opt.Now() })
}

// Reconnect ends Disconnect.
func (s *Server) Reconnect() {
	s.change(func() { s.err, s.since = nil, s.opt.Now() })
}

// SetIncomplete makes observations incomplete, with the reason as a sentence. An empty reason makes them complete.
func (s *Server) SetIncomplete(why string) {
	s.change(func() { s.incomplete = why })
}

// SetPredecessor sets the installation whose VMs can be stamped anew, or "".
func (s *Server) SetPredecessor(installation string) {
	s.change(func() { s.predecessor = installation })
}

// SetSuddenlyEmpty sets whether the root folder held VMs and reads empty.
func (s *Server) SetSuddenlyEmpty(empty bool) {
	s.change(func() { s.suddenlyEmpty = empty })
}

// SetMissingPrivileges sets the privileges that the account lacks. Changes of VMs that need one fail.
func (s *Server) SetMissingPrivileges(privileges ...string) {
	s.change(func() { s.missing = privileges })
}

// change changes the vCenter's state and notifies.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.unlock()
	f()
	s.after = append(s.after, s.serverChanged)
}

// Hide removes an existing VM from observations, as for a late update. The VM is suspect, never gone.
func (s *Server) Hide(name string) { s.setHidden(name, true) }

// Show ends Hide.
func (s *Server) Show(name string) { s.setHidden(name, false) }

// HideConfiguration removes a VM's configuration from observations, as for a host that was unreachable when the operator started.
func (s *Server) HideConfiguration(name string) { s.setUnread(name, true) }

// ShowConfiguration ends HideConfiguration.
func (s *Server) ShowConfiguration(name string) { s.setUnread(name, false) }

func (s *Server) setUnread(name string, unread bool) {
	s.mu.Lock()
	defer s.unlock()
	vm := s.must(name)
	s.unreadVMs[vm.Ref] = unread
	s.touched(vm)
}

func (s *Server) setHidden(name string, hidden bool) {
	s.mu.Lock()
	defer s.unlock()
	vm := s.must(name)
	s.hidden[vm.Ref] = hidden
	s.touched(vm)
}

// DelayConfirmations keeps missing VMs and folders suspect until Confirm. Otherwise the observation that misses them confirms
// their absence.
func (s *Server) DelayConfirmations() {
	s.mu.Lock()
	defer s.unlock()
	s.delayConfirmations = true
}

// Confirm confirms that the objects that observations missed so far do not exist, and notifies their groups.
func (s *Server) Confirm() {
	s.mu.Lock()
	defer s.unlock()
	for _, ref := range inOrder(s.suspects) {
		group := s.suspects[ref]
		s.confirmed[ref] = true
		s.after = append(s.after, func() { s.groupChanged(group) })
	}
	clear(s.suspects)
}

// fail returns an error.
func fail(kind vsphere.Kind, op, why string) *vsphere.Error {
	return &vsphere.Error{Kind: kind, Op: op, Err: errors.New(why)}
}

// scripted returns an error of the script. If its Op is empty, it is set to op.
func scripted(err *vsphere.Error, op string) *vsphere.Error {
	e := *err
	if e.Op == "" {
		e.Op = op
	}
	return &e
}
