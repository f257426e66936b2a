package session

import (
	"context"
	"strings"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Census counts the sessions at vCenter.
type Census struct {
	// Hidden is true if the account cannot see other accounts' sessions. All other fields are then zero.
	Hidden bool
	// All counts all sessions, Account those of this account, and Unnamed those without an account.
	All, Account, Unnamed int
	// Own is true if this session is among them. Whole is true if vCenter shows its whole user agent.
	Own, Whole bool
}

// Census asks vCenter for its sessions.
func (s *Session) Census(ctx context.Context) (Census, error) {
	manager := *s.client.ServiceContent.SessionManager
	resp, err := methods.RetrievePropertiesEx(ctx, s, &types.RetrievePropertiesEx{
		This: s.client.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: manager}},
			PropSet:   []types.PropertySpec{{Type: manager.Type, PathSet: []string{"sessionList"}}},
		}},
	})
	if err != nil {
		return Census{}, connectError("count the sessions", err)
	}
	s.mu.Lock()
	user, key := s.user, s.key
	s.mu.Unlock()
	c := Census{Hidden: true}
	if resp.Returnval == nil {
		return c, nil
	}
	for _, object := range resp.Returnval.Objects {
		for _, property := range object.PropSet {
			list, ok := property.Val.(types.ArrayOfUserSession)
			if !ok {
				continue
			}
			c.Hidden = false
			for _, login := range list.UserSession {
				c.count(login, user, key, s.soap.UserAgent)
			}
		}
	}
	return c, nil
}

func (c *Census) count(login types.UserSession, user, key, agent string) {
	c.All++
	switch {
	case login.UserName == "":
		c.Unnamed++
	case strings.EqualFold(login.UserName, user):
		c.Account++
	}
	if login.Key == key {
		c.Own, c.Whole = true, login.UserAgent == agent
	}
}
