package govmomi

import (
	"context"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// emptyLook is how often it is looked, in memory, whether the root folder was suddenly empty.
	emptyLook = 100 * time.Millisecond
	// emptyRetry is the time between two reads of vCenter's recent tasks while that is so.
	emptyRetry = 5 * time.Second
)

// explainEmptiness ends the alarm over a root folder that is suddenly empty when vCenter's own recent tasks say that all
// the VMs that vanished were destroyed by the operator's account. Another replica did that then: its destructions reach
// this one as news like any accident's.
func (s *Server) explainEmptiness(ctx context.Context, c *connection) error {
	look := time.NewTicker(emptyLook)
	defer look.Stop()
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
		vanished := s.index.Vanished()
		if len(vanished) == 0 || s.cfg.Now().Sub(last) < emptyRetry {
			continue
		}
		last = s.cfg.Now()
		destroyed, err := s.destroyed(ctx, c)
		if err != nil {
			if ctx.Err() == nil {
				s.log.Info("Cannot read recent tasks, which may say who destroyed the VMs that are gone", "reason", err.Error())
			}
			continue
		}
		var explained []vsphere.Ref
		for _, ref := range vanished {
			if destroyed[ref] {
				explained = append(explained, ref)
			}
		}
		s.index.Explained(explained)
	}
}

// destroyed returns the VMs that recent tasks of our account have destroyed.
func (s *Server) destroyed(ctx context.Context, c *connection) (map[vsphere.Ref]bool, error) {
	tasks, err := recentTasks(ctx, c)
	if err != nil {
		return nil, err
	}
	out := map[vsphere.Ref]bool{}
	for _, t := range tasks {
		_, method, _ := strings.Cut(t.text("info.descriptionId"), ".")
		if types.TaskInfoState(t.text(taskState)) == types.TaskInfoStateSuccess && strings.HasPrefix(strings.ToLower(method), "destroy") &&
			isOurs(t.values["info.reason"], c.session.User()) {
			out[t.refOf("info.entity")] = true
		}
	}
	return out, nil
}

// isOurs reports whether a task was certainly started by our account.
func isOurs(reason any, user string) bool {
	switch r := reason.(type) {
	case types.TaskReasonUser:
		return strings.EqualFold(r.UserName, user)
	case *types.TaskReasonUser:
		return strings.EqualFold(r.UserName, user)
	}
	return false
}
