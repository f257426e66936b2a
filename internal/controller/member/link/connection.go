package link

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/leave"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

// connection is one incarnation of a member: a goroutine (run) that connects, engages, checks the member's health and retries
// until it is ended. It never changes its target. Fields below the line are guarded by the Provider's lock.
type connection struct {
	life
	provider *Provider
	target   settings.Target
	log      logr.Logger
	// pace is shared by all incarnations of the MemberCluster.
	pace *remote.Pace
	// keeper of the admission objects.
	keeper *admission.Keeper
	joiner *join.Joiner
	// renewer of the tokens.
	renewer *renewal.Renewer

	// ---- term counts how often this replica lost its commission. Findings of an earlier term are invalid.
	term      int
	settings  fleet.Settings
	admission settings.Admission
	seen      Observation
	served    served          // while the state has caches
	how       leave.Departure // once it has left
}

func newConnection(p *Provider, target settings.Target, previous *connection) *connection {
	c := &connection{
		life:      newLife(p.ctx),
		provider:  p,
		target:    target,
		log:       p.log.WithValues("member", target.Name),
		settings:  target.Settings,
		admission: target.Admission,
		seen:      Observation{State: Queued},
	}
	if previous != nil {
		c.before = previous.done
	}
	if previous != nil && previous.target.UID == target.UID {
		c.pace = previous.pace // so that an immediate read is not lost
	} else {
		c.pace = remote.NewPace(p.opts.Limits)
	}
	c.joiner = join.NewJoiner(&p.opts, &c.target, c, c.log)
	c.keeper = admission.NewKeeper(&p.opts, &c.target, c, c.log)
	c.renewer = renewal.New(renewal.Config{
		Member: target.Name, Lifetime: target.Renewal.Lifetime, After: p.opts.Timings.RenewAfter, Retry: p.opts.Timings.RenewRetry(), Now: p.opts.Now,
		Store: p.opts.Tokens, Link: c, Log: c.log,
	})
	return c
}

// endLocked disengages the member immediately and ends the goroutine. The caller holds the Provider's lock.
func (c *connection) endLocked() {
	c.enterLocked(Ending)
	c.cancel()
}

// enterLocked changes the state, and reports it to the fleet. It returns false if the connection ends: only the end follows.
// The caller holds the Provider's lock.
func (c *connection) enterLocked(to State) bool {
	from := c.seen.State
	switch {
	case from == to:
		return true
	case slices.Contains(next[from], to):
	case from.ends():
		return false
	default:
		c.log.Error(nil, Unexpected, "from", from, "to", to)
	}
	c.seen.State = to
	if !to.hasCaches() {
		c.served, c.seen.EngagedAt = served{}, time.Time{}
	}
	c.seen.tried = to != Refilling && (c.seen.tried || to == Refused || to == AwaitingLeader || to == Engaged)
	if to == Engaged && !from.Serves() {
		c.seen.EngagedAt = c.provider.opts.Now()
	}
	c.shareLocked()
	return true
}

// move changes the state on the way to another state that status shows.
func (c *connection) move(to State) {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.enterLocked(to)
}

// enter changes the state with the problem that caused the change, or nil, and has status written.
func (c *connection) enter(to State, problem *remote.Problem) {
	c.update(func(seen *Observation) {
		seen.Problem = problem
		// Only a claim that was read names the holder of the member; one that was not read stays as last seen.
		if problem != nil && problem.Reason == v1alpha1.ReasonClaimedByAnotherHub {
			seen.Claim = &install.Finding{OK: false, Reason: problem.Reason, Message: problem.Message}
		}
		c.enterLocked(to)
	})
}

// run is the connection's goroutine.
func (c *connection) run() {
	defer c.provider.notify(c.target.Name)
	defer close(c.done)
	defer c.end()
	switch {
	case !c.begin(c.provider.started):
	case c.target.Leaving:
		c.leave()
	default:
		c.connect()
	}
}

// end records that all goroutines of the connection have ended.
func (c *connection) end() {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.endLocked()
	c.enterLocked(Ended)
}

// connect makes one attempt after the other, until the connection must end.
func (c *connection) connect() {
	pause, said := c.provider.opts.Timings.Retry(), ""
	for {
		c.move(Connecting)
		wasEngaged, err := c.attempt()
		if c.ctx.Err() != nil {
			return
		}
		if wasEngaged {
			said = ""
			pause = c.provider.opts.Timings.Retry()
		}
		if errors.Is(err, errRestored) {
			c.noteRestore(c.target.KnownUID)
			continue // there was a pause before this check
		}
		p := remote.AsProblem(c.target.Config.Host, err)
		wait := pause.Step()
		if p.Reason == v1alpha1.ReasonMemberUnreachable && errors.Is(err, errUnanswered) {
			wait = min(wait, c.provider.opts.Timings.Knock)
		}
		if p.Lasting {
			pause = c.provider.opts.Timings.Retry()
			wait = settings.Spread(c.provider.opts.Timings.Recheck)
		}
		if p.Waiting {
			c.log.V(1).Info("The member is not engaged yet", "error", p.Error())
			wait = min(wait, c.provider.opts.Timings.Await)
			c.enter(AwaitingLeader, nil)
		} else {
			if p.Message != said {
				said = p.Message
				c.log.Error(p, "The member is not engaged", "reason", p.Reason, "retryAfter", wait.String())
			}
			c.enter(Refused, p)
		}
		if !c.Pause(wait) {
			return
		}
	}
}

// leave cleans up the member.
func (c *connection) leave() {
	c.move(Leaving)
	leaver := &leave.Leaver{Options: &c.provider.opts, Target: &c.target, Pace: c.pace, Link: c, Log: c.log}
	if how, left := leaver.Leave(c.ctx); left {
		c.provider.mu.Lock()
		defer c.provider.mu.Unlock()
		c.how = how
		c.enterLocked(Left)
	}
}

// Sibling implements leave.Link.
func (c *connection) Sibling() string {
	p := c.provider
	p.mu.RLock()
	defer p.mu.RUnlock()
	if others := p.identities.others(c.target.Name, p.identities.known[c.target.Name].ClusterUID); len(others) > 0 {
		return others[0]
	}
	return ""
}

// update changes the observation of the member and has status written.
func (c *connection) update(change func(*Observation)) {
	c.provider.mu.Lock()
	change(&c.seen)
	c.shareLocked()
	c.provider.mu.Unlock()
	c.provider.notify(c.target.Name)
}

// contact records that the member answered; it notifies no other component.
func (c *connection) contact() {
	c.provider.mu.Lock()
	c.seen.LastContact = c.provider.opts.Now()
	c.provider.mu.Unlock()
}

// attempt connects once and serves the member until it ends or fails. It returns whether the member was engaged, and the
// reason of the end.
func (c *connection) attempt() (wasEngaged bool, err error) {
	apis, err := c.provider.opts.APIs(&c.target, c.pace, c)
	if err != nil {
		return false, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused, Lasting: true, Cause: err,
			Message: "No client can be made of the kubeconfig. The operator's log holds the error."}
	}
	end := sync.OnceFunc(apis.End)
	defer end()
	// Requests end with their context. Closing their connections ends them in every case.
	defer context.AfterFunc(c.ctx, end)()
	// A refusal explains more than the error by which the attempt ended.
	defer func() {
		if refused := apis.Guard.Err(); refused != nil && err != nil {
			err = refused
		}
	}()

	uid, err := c.identify(apis.Runtime)
	if err != nil {
		return false, err
	}
	if err := c.provider.acquire(c, uid); err != nil {
		return false, err
	}
	defer c.provider.release(c, uid)
	c.move(Equipping)
	if err := c.joiner.Bootstrap(c.ctx, apis, uid); err != nil {
		return false, err
	}
	if c.lookBack(c.ctx, apis.Runtime, uid) {
		c.noteRestore(uid) // no watch was open
	}
	return c.serve(apis, uid)
}

// errUnanswered: not even the first and smallest request of an attempt was answered.
var errUnanswered = errors.New("the member does not answer")

// identify determines which cluster answers, and verifies that the MemberCluster is pinned to it.
func (c *connection) identify(api *remote.API) (uid string, err error) {
	version, err := api.Version(c.ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errUnanswered, err)
	}
	uid, err = api.ClusterUID(c.ctx, c.provider.opts.Timings.Request)
	if err != nil {
		return "", err
	}
	c.contact()
	err = c.target.Pinned(uid)
	c.update(func(seen *Observation) {
		seen.ClusterUID = uid
		if err == nil {
			seen.KubernetesVersion = version
		}
	})
	return uid, err
}
