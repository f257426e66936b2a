package fake

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// predecessor is what earlier processes left running, and this process does not track.
type predecessor struct {
	tasks []*task
	// waits holds the reason why groups with a template wait, by its name.
	waits map[string]string
}

// Disown makes all tasks those of a dead process: no group has them in flight, and EndDisowned ends them.
func (s *Server) Disown() {
	s.mu.Lock()
	defer s.unlock()
	for _, t := range s.tasks {
		s.ended(t, false)
	}
	s.left.tasks, s.tasks = append(s.left.tasks, s.tasks...), nil
}

// EndDisowned ends the tasks of a dead process. Failures are not reported.
func (s *Server) EndDisowned() {
	s.mu.Lock()
	defer s.unlock()
	for _, t := range s.left.tasks {
		_ = t.effect()
		s.after = append(s.after, func() { s.groupChanged(t.Group) })
	}
	s.left.tasks = nil
}

// AwaitClones makes the groups that use a template wait for its clones from an earlier process. why is the reason, as a sentence. An empty reason
// ends the wait.
func (s *Server) AwaitClones(template, why string) {
	s.change(func() {
		if s.left.waits == nil {
			s.left.waits = map[string]string{}
		}
		if s.left.waits[template] = why; why == "" {
			delete(s.left.waits, template)
		}
	})
}

// awaits returns the reason why a group waits, or "".
func (p predecessor) awaits(q vsphere.Query) string {
	for template, why := range p.waits {
		if len(q.Templates) == 0 || slices.Contains(q.Templates, template) {
			return why
		}
	}
	return ""
}
