package session

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

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
