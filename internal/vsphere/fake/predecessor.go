package fake

import (
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// predecessor is what processes before this one left running, and nobody here tracks.
type predecessor struct {
	tasks []*task
	// waits says why groups wait that use a template, by its name.
	waits map[string]string
}

// Disown makes all tasks those of a process that is dead: no group has them in flight, and they end with EndDisowned.
func (s *Server) Disown() {
	s.mu.Lock()
	defer s.unlock()
	for _, t := range s.tasks {
		s.ended(t, false)
	}
	s.left.tasks, s.tasks = append(s.left.tasks, s.tasks...), nil
}

// EndDisowned ends the tasks of a process that is dead. Nobody learns of a failure.
func (s *Server) EndDisowned() {
	s.mu.Lock()
	defer s.unlock()
	for _, t := range s.left.tasks {
		_ = t.effect()
		s.after = append(s.after, func() { s.groupChanged(t.Group) })
	}
	s.left.tasks = nil
}

// AwaitClones has the groups that use a template wait for clones of it that were started before this process, with a sentence that says for what;
// an empty one ends that.
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

// awaits says what a group waits for, or "".
func (p predecessor) awaits(q vsphere.Query) string {
	for template, why := range p.waits {
		if len(q.Templates) == 0 || slices.Contains(q.Templates, template) {
			return why
		}
	}
	return ""
}
