package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var errNotMarked = errors.New("this session has no identity")

// EndLeftovers ends unused sessions at vCenter, and returns their number. They are sessions that this process has lost track of, and those
// of dead processes. A killed process cannot log out, and vCenter would keep its session for half an hour. Ending it also ensures that
// vCenter refuses a request that is still in transit. [Process.Boots] reports dead processes, possibly late: right after a start, a
// predecessor is not known to be dead yet. So EndLeftovers is called after a login, and again whenever a process turns out to be dead.
//
// It ends only sessions of the same user with the mark of the same installation and VCenter. Without the privilege
// Sessions.TerminateSession, it returns an error of kind Permission, which the caller can ignore.
func (s *Session) EndLeftovers(ctx context.Context) (int, error) {
	const op = "end unused sessions"
	if s.mark == nil {
		return 0, &vsphere.Error{Kind: vsphere.KindSpec, Op: op, Err: errNotMarked}
	}
	var manager mo.SessionManager
	client := s.client
	err := mo.RetrieveProperties(ctx, s, client.ServiceContent.PropertyCollector, *client.ServiceContent.SessionManager, &manager)
	if err != nil {
		return 0, leftoverError(op, err)
	}
	s.mu.Lock()
	key, user := s.key, s.user // after the list, which can contain the session of a new login
	s.mu.Unlock()
	if key == "" {
		return 0, nil // the own session is unknown
	}
	req := types.TerminateSession{This: *client.ServiceContent.SessionManager}
	for _, session := range manager.SessionList {
		m, ok := parseMark(session.UserAgent)
		if ok && session.Key != key && session.UserName == user && s.cfg.Identity.stale(*s.mark, m) {
			req.SessionId = append(req.SessionId, session.Key)
		}
	}
	if len(req.SessionId) == 0 {
		return 0, nil
	}
	// It is sent without a fence, like the login: it does not change the inventory.
	ctx, cancel := s.withTimeout(ctx, "Login")
	defer cancel()
	if _, err := methods.TerminateSession(ctx, metered{s}, &req); err != nil && !fault.Is(err, &types.NotFound{}) {
		return 0, leftoverError(op, err)
	}
	return len(req.SessionId), nil
}

func leftoverError(op string, err error) error {
	var noPermission *types.NoPermission
	if _, ok := fault.As(err, &noPermission); ok {
		return &vsphere.Error{Kind: vsphere.KindPermission, Op: op, Privilege: vsphere.PrivilegeSessions,
			Err: fmt.Errorf("grant %s on the vCenter's root object, or sessions of killed operators stay until they have been idle for "+
				"long enough: %w", vsphere.PrivilegeSessions, err)}
	}
	return &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: err}
}

// Living returns the number of sessions of another installation of the operator at vCenter, and the time of their last use. vCenter ends an
// unused session after a while, half an hour by default. If the account cannot see the sessions of others, the error is of kind Permission.
func (s *Session) Living(ctx context.Context, installation string) (n int, last time.Time, err error) {
	op := "look for sessions of installation " + installation
	var manager mo.SessionManager
	client := s.client
	err = mo.RetrieveProperties(ctx, s, client.ServiceContent.PropertyCollector, *client.ServiceContent.SessionManager, &manager)
	var noPermission *types.NoPermission
	if _, refused := fault.As(err, &noPermission); refused || err == nil && len(manager.SessionList) == 0 {
		return 0, time.Time{}, &vsphere.Error{Kind: vsphere.KindPermission, Op: op, Privilege: vsphere.PrivilegeSessions,
			Err: fmt.Errorf("the sessions at this vCenter cannot be seen; grant %s on the vCenter's root object: %w", vsphere.PrivilegeSessions, err)}
	}
	if err != nil {
		return 0, time.Time{}, &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: err}
	}
	for _, session := range manager.SessionList {
		if m, ok := parseMark(session.UserAgent); ok && m.installation == installation {
			n++
			if session.LastActiveTime.After(last) {
				last = session.LastActiveTime
			}
		}
	}
	return n, last, nil
}
