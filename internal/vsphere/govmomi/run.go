package govmomi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/codeconnect/vmgroup-operator/internal/delay"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
)

// errRenewed ends a serving round because the login was renewed, which invalidates views and collectors.
var errRenewed = errors.New("the session was renewed")

// Run connects, observes and reconnects until ctx ends. Then it logs out and returns nil. Call it once. It does not wait for calls that are in progress when
// ctx ends.
func (s *Server) Run(ctx context.Context) error {
	var sess *session.Session
	defer func() {
		s.disconnected(errNotConnected, "the operator has disconnected from this vCenter")
		if sess == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
		defer cancel()
		if err := sess.Close(ctx); err != nil {
			s.log.Error(err, "Logout failed; the session ends when it has been idle for long enough")
		}
	}()
	said := "" // an outage is logged once, and again when its cause changes
	tell := func(err error) {
		if text := err.Error(); text != said {
			said = text
			s.logOutage(err)
		}
		s.disconnected(err, fmt.Sprintf("vCenter is not reachable: %v", err))
	}
	away := true
	for wait := time.Duration(0); ctx.Err() == nil; {
		if !sleep(ctx, wait) || away && !s.answering(ctx, tell) {
			return nil
		}
		began := s.cfg.Now()
		var err error
		if sess == nil {
			sess, err = session.Dial(ctx, s.cfg.Session)
		}
		if err == nil {
			err = s.serve(ctx, sess)
		}
		if ctx.Err() != nil {
			return nil
		}
		r := round{
			held: s.cfg.Now().Sub(began), served: s.servedFor(), renewed: errors.Is(err, errRenewed), listed: s.index.Applied() > 0,
		}
		if r.held > retryLast {
			said = ""
		}
		if r.startsOver(wait) {
			wait = 0
		}
		if away = !r.renewed || wait > 0; !away {
			s.index.Invalidate("the session with vCenter was renewed and the inventory is being read again")
			wait = retryFirst / 10
			continue
		}
		tell(err)
		if sess != nil {
			sess.Disconnect()
		}
		wait = nextWait(wait, err)
	}
	return nil
}

// logOutage logs why there is no connection. No person has to act if vCenter answers and only the session was renewed.
func (s *Server) logOutage(err error) {
	const message = "Not connected; trying again until it works"
	if errors.Is(err, errRenewed) {
		s.log.Info(message, "cause", err.Error())
		return
	}
	s.log.Error(err, message)
}

// round is one attempt to connect and to serve.
type round struct {
	// held is the duration of the round, and served the duration of its connection.
	held, served time.Duration
	// renewed is true if the round ended with a renewed login, and listed if a full listing was applied.
	renewed, listed bool
}

// startsOver reports whether the pauses between rounds start over after this round. For an unhealthy vCenter, the round must hold longer than the pause
// before it. For a renewed login, it is enough that the round read the inventory: a user can end sessions one after the other.
func (r round) startsOver(pause time.Duration) bool {
	switch {
	case r.held > retryLast:
		return true
	case r.renewed:
		return r.listed
	}
	return r.served > pause
}

// servedFor returns the age of the connection, or zero if there is none.
func (s *Server) servedFor() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.state.reachable {
		return 0
	}
	return s.cfg.Now().Sub(s.state.since)
}

// nextWait returns the pause before the next round. After a rejected login it is short: a round sends no login before its time, and another replica can have
// been accepted meanwhile.
func nextWait(last time.Duration, err error) time.Duration {
	if vsphere.KindOf(err) == vsphere.KindCredentials {
		return credentialsPause
	}
	return max(min(max(2*last, retryFirst), retryLast), leastWait(err))
}

// leastWait returns the minimum pause after an error. A server that sent too much would send it again, at the same cost.
func leastWait(err error) time.Duration {
	if vsphere.KindOf(err) == vsphere.KindLimitExceeded {
		return retryLast
	}
	return 0
}

// sleep waits for d. If ctx ends first, it returns false.
func sleep(ctx context.Context, d time.Duration) bool {
	return delay.For(ctx, d) == nil
}

// serve uses a session until an error occurs, vCenter stops responding, or its certificate changes.
func (s *Server) serve(ctx context.Context, sess *session.Session) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return sess.Attend(ctx) })
	g.Go(func() error { return s.work(ctx, sess) })
	return g.Wait()
}

// work logs in if needed, starts all loops and runs them until an error occurs.
func (s *Server) work(ctx context.Context, sess *session.Session) error {
	if generation, _ := sess.Generation(); generation == 0 {
		if err := sess.Login(ctx); err != nil {
			return err
		}
	}
	generation, renewed := sess.Generation()
	c, err := s.connect(ctx, sess)
	if err != nil {
		return err
	}
	if !s.endLeftovers(ctx, sess) {
		kick(s.leftoverKick)
	}
	s.index.SetRoot(c.root)
	may := readPrivileges(ctx, c)
	if err := s.refreshCatalog(ctx, c); err != nil {
		return err
	}
	if err := s.inherit(ctx, c); err != nil {
		return err
	}
	if now, _ := sess.Generation(); now != generation {
		return errRenewed
	}
	s.guests.reread()
	s.makings.reset()
	s.connected(c, may)

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.newFeed(c).Run(ctx) })
	g.Go(func() error { return s.watchTasks(ctx, c) })
	g.Go(func() error { return s.confirmSuspects(ctx, c) })
	g.Go(func() error { return s.keepCatalog(ctx, c) })
	g.Go(func() error { return s.explainEmptiness(ctx, c) })
	g.Go(func() error { return s.watchPlace(ctx, c) })
	g.Go(func() error { return s.keepEndingLeftovers(ctx, sess) })
	g.Go(func() error { return s.watchPredecessor(ctx, sess) })
	g.Go(func() error { return s.answerQuestions(ctx, c) })
	g.Go(func() error { return s.readGuests(ctx, c) })
	g.Go(func() error { return s.keepLookingForStrays(ctx, c) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-renewed:
			return errRenewed
		}
	})
	return g.Wait()
}

// connected publishes a connection.
func (s *Server) connected(c *connection, may granted) {
	about := c.client.ServiceContent.About
	s.mu.Lock()
	s.conn = c
	if !s.state.reachable {
		s.state.since = s.cfg.Now()
	}
	s.state.reachable, s.state.err = true, nil
	s.state.version, s.state.instanceUUID = about.Version, about.InstanceUuid
	s.state.privileges = may
	s.atPlace = vsphere.Place{InstanceUUID: about.InstanceUuid, Datacenter: s.cfg.Datacenter, Folder: s.cfg.RootFolder, Root: c.root.Ref}
	s.mu.Unlock()
	s.serverChanged()
}

// disconnected records the reason for a missing connection. The known state stays, but is not trusted.
func (s *Server) disconnected(err error, why string) {
	err = translate("connect to vCenter", err)
	s.mu.Lock()
	changed := s.state.reachable || s.state.err == nil || s.state.err.Error() != err.Error()
	if s.state.reachable {
		s.state.since = s.cfg.Now()
	}
	s.state.reachable, s.state.err = false, err
	s.mu.Unlock()
	s.index.Invalidate(why)
	if changed {
		s.serverChanged()
	}
}

// inherit finds clones that a predecessor of this process started. It runs once.
func (s *Server) inherit(ctx context.Context, c *connection) error {
	if s.inherited {
		return nil
	}
	at := uint64(s.index.Begin())
	tasks, err := s.untracked(ctx, c)
	if err != nil {
		return translate("read vCenter's recent tasks", err)
	}
	s.ops.Inherit(at, tasks)
	s.inherited = true
	return nil
}
