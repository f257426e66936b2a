package govmomi

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// TaskMeter measures tasks. It must not block.
type TaskMeter interface {
	// Took reports the duration of a successful task, including its time in vCenter's queue.
	Took(kind vsphere.OperationKind, d time.Duration)
}

// Load returns the running and waiting tasks of this process, from memory.
func (s *Server) Load() vsphere.Load {
	var l vsphere.Load
	l.Held, l.Waiting, l.Limit = s.budget.Load()
	for _, task := range s.ops.Tasks() {
		if l.Oldest.IsZero() || task.Since.Before(l.Oldest) {
			l.Oldest = task.Since
		}
	}
	return l
}

// learn records the duration of a task by vCenter's clock. It is zero if vCenter does not report it.
func (s *Server) learn(kind vsphere.OperationKind, d time.Duration) {
	s.took.learn(kind, d)
	if s.cfg.Tasks != nil && d > 0 {
		s.cfg.Tasks.Took(kind, d)
	}
}
