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

// EndLeftovers ends the sessions at vCenter that nobody uses any more, and returns how many there were: those that this
// process has lost track of, and those of processes that are dead. A process that was killed cannot log out, and vCenter
// would keep its session for half an hour; ending it also makes sure that a request of it that is still on its way is
// refused. Who is dead says [Process.Boots], and it may say so late: right after a start a predecessor is not known to be
// dead yet. So EndLeftovers is called after a login, and again whenever a process turns out to be dead.
//
// Only sessions of the same user with the mark of the same installation and VCenter are ended. Without the privilege
// Sessions.TerminateSession the error is of kind Permission; it may be ignored.
func (s *Session) EndLeftovers(ctx context.Context) (int, error) {
	const op = "end sessions that nobody uses any more"
	if s.mark == nil {
		return 0, &vsphere.Error{Kind: vsphere.KindSpec, Op: op, Err: errNotMarked}
	}
	s.mu.Lock()
	key, user := s.key, s.user
	s.mu.Unlock()
	if key == "" {
		return 0, nil // which of the sessions is the own one is not known
	}
	var manager mo.SessionManager
	client := s.client
	err := mo.RetrieveProperties(ctx, s, client.ServiceContent.PropertyCollector, *client.ServiceContent.SessionManager, &manager)
	if err != nil {
		return 0, leftoverError(op, err)
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
	// Sent without a fence, like the login itself: it concerns nothing in the inventory.
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

// Living returns how many sessions another installation of the operator has at vCenter, and when one of them was used last. vCenter
// itself ends a session that nobody used for a while, half an hour unless it is configured otherwise. The error is of kind Permission if the
// account may not see the sessions of others.
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
