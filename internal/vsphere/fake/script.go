package fake

import (
	"errors"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// script is what a test wants to go wrong.
type script struct {
	failSubmit, failTask map[vsphere.OperationKind][]*vsphere.Error
	// lost holds, for each reply to lose, whether the request takes effect.
	lost   map[vsphere.OperationKind][]bool
	hidden map[vsphere.Ref]bool
	// unreadVMs are those whose configuration is not shown.
	unreadVMs map[vsphere.Ref]bool

	delayConfirmations bool
	// suspects are objects that an observation missed, with the group to notify; confirmed those known to be gone.
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

// FailSubmit has vCenter refuse the next n calls of a kind. The failures are observed, too, as with a real one.
func (s *Server) FailSubmit(kind vsphere.OperationKind, n int, err *vsphere.Error) {
	s.mu.Lock()
	defer s.unlock()
	for range n {
		s.failSubmit[kind] = append(s.failSubmit[kind], err)
	}
}

// FailTask has vCenter accept the next n calls of a kind and their tasks fail.
func (s *Server) FailTask(kind vsphere.OperationKind, n int, err *vsphere.Error) {
	s.mu.Lock()
	defer s.unlock()
	for range n {
		s.failTask[kind] = append(s.failTask[kind], err)
	}
}

// Heal ends what FailSubmit and FailTask have asked for of a kind.
func (s *Server) Heal(kind vsphere.OperationKind) {
	s.mu.Lock()
	defer s.unlock()
	delete(s.failSubmit, kind)
	delete(s.failTask, kind)
}

// LoseReply has the next n calls of a kind get no reply. An operation on a VM is in flight with an unknown outcome
// until Step; then it takes effect if happens is true, and otherwise is gone without a failure. A call for a folder
// takes effect, or not, at once, and returns an error with OutcomeUnknown.
func (s *Server) LoseReply(kind vsphere.OperationKind, n int, happens bool) {
	s.mu.Lock()
	defer s.unlock()
	for range n {
		s.lost[kind] = append(s.lost[kind], happens)
	}
}

// pop removes and returns what is scripted next for a kind.
func pop[T any](m map[vsphere.OperationKind][]T, kind vsphere.OperationKind) (next T, ok bool) {
	if len(m[kind]) == 0 {
		return next, false
	}
	next, m[kind] = m[kind][0], m[kind][1:]
	return next, true
}

// Disconnect makes the vCenter unreachable: calls fail and observations are incomplete, until Reconnect. A nil err
// means a transient one.
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

// SetIncomplete makes observations incomplete, with a sentence that says why; an empty one makes them complete.
func (s *Server) SetIncomplete(why string) {
	s.change(func() { s.incomplete = why })
}

// SetPredecessor makes this the installation whose VMs may be stamped anew; empty for none.
func (s *Server) SetPredecessor(installation string) {
	s.change(func() { s.predecessor = installation })
}

// SetSuddenlyEmpty says whether the root folder held VMs and reads empty.
func (s *Server) SetSuddenlyEmpty(empty bool) {
	s.change(func() { s.suddenlyEmpty = empty })
}

// SetMissingPrivileges says which privileges the account lacks. Changes of VMs that need one fail.
func (s *Server) SetMissingPrivileges(privileges ...string) {
	s.change(func() { s.missing = privileges })
}

// change changes the vCenter's state and tells so.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.unlock()
	f()
	s.after = append(s.after, s.serverChanged)
}

// Hide leaves a VM that exists out of observations, as if its update was late: it is suspect, never gone.
func (s *Server) Hide(name string) { s.setHidden(name, true) }

// Show ends Hide.
func (s *Server) Show(name string) { s.setHidden(name, false) }

// HideConfiguration leaves the configuration of a VM out of observations, as of one whose host was away when the operator started.
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

// DelayConfirmations has missing VMs and folders stay suspect until Confirm. Without it they are confirmed gone by
// the observation that misses them.
func (s *Server) DelayConfirmations() {
	s.mu.Lock()
	defer s.unlock()
	s.delayConfirmations = true
}

// Confirm confirms that the objects that observations have missed so far are gone, and notifies their groups.
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

// scripted returns an error of the script, with what was tried if it does not say so.
func scripted(err *vsphere.Error, op string) *vsphere.Error {
	e := *err
	if e.Op == "" {
		e.Op = op
	}
	return &e
}
