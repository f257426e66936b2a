package member

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/admission"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/leave"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

// connection is one incarnation of a member: a goroutine (run) that connects, engages, watches the member's
// health and retries until it is ended. It never changes its target. Fields below the line are guarded by
// the Provider's lock.
type connection struct {
	provider *Provider
	target   settings.Target
	log      logr.Logger
	// pace is that of all incarnations of the MemberCluster.
	pace   *remote.Pace
	ctx    context.Context
	cancel context.CancelFunc
	// previous incarnation, waited for before anything is done.
	previous *connection
	// done is closed when run has ended, and with it every goroutine of this incarnation.
	done chan struct{}
	// poke ends a pause early; it holds one wake-up.
	poke chan struct{}
	// keeper of the admission objects.
	keeper *admission.Keeper
	joiner *join.Joiner

	// ----
	ending bool
	// commissioned: this replica led and had put the finalizer when the controller looked last; see Leading.
	commissioned bool
	// term counts how often this replica was relieved of its commission. What it found out before counts no more.
	term      int
	settings  fleet.Settings
	admission settings.Admission
	seen      observation
	cluster   cluster.Cluster // nil unless engaged
	served    served          // by cluster
	left      bool            // a leaving incarnation is through
	departure leave.Departure
}

func newConnection(p *Provider, target settings.Target, previous *connection) *connection {
	ctx, cancel := context.WithCancel(p.ctx)
	pace := remote.NewPace(p.opts.Limits)
	if previous != nil && previous.target.UID == target.UID {
		pace = previous.pace // what was read at once is not forgotten
	}
	c := &connection{
		provider: p,
		target:   target,
		pace:     pace,
		log:      p.log.WithValues("member", target.Name),
		ctx:      ctx,
		cancel:   cancel,
		previous: previous,
		done:     make(chan struct{}),
		poke:     make(chan struct{}, 1),
		settings: target.Settings,

		admission: target.Admission,
	}
	c.joiner = join.NewJoiner(&p.opts, &c.target, c, c.log)
	c.keeper = admission.NewKeeper(&p.opts, &c.target, p.admission, c, c.log)
	return c
}

// endLocked disengages the member at once and lets the goroutine end. The caller holds the Provider's lock.
func (c *connection) endLocked() {
	c.ending = true
	c.cluster = nil
	c.shareLocked()
	c.cancel()
}

func (c *connection) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Wake ends a pause of the connection early; it never blocks.
func (c *connection) Wake() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// run is the connection's goroutine.
func (c *connection) run() {
	defer c.provider.notify(c.target.Name)
	defer close(c.done)
	defer c.cancel()
	// The wait has no way out on purpose: the next incarnation waits for this one, and so for all before it.
	if c.previous != nil {
		<-c.previous.done
		c.previous = nil
	}
	select {
	case <-c.provider.started:
	case <-c.ctx.Done():
		return
	}
	if c.target.Leaving {
		c.leave()
		return
	}
	pause, said := c.provider.opts.Timings.Retry(), ""
	for {
		wasEngaged, err := c.attempt()
		if c.ctx.Err() != nil {
			return
		}
		if wasEngaged {
			said = ""
			pause = c.provider.opts.Timings.Retry()
		}
		if errors.Is(err, errRestored) {
			c.noteRestore(c.served.uid)
			c.update(func(seen *observation) { seen.phase, seen.engagedAt = phaseConnecting, time.Time{} })
			continue // there was a pause before this was looked for
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
			c.await(p)
			if !c.Pause(min(wait, c.provider.opts.Timings.Await)) {
				return
			}
			continue
		}
		if p.Message != said {
			said = p.Message
			c.log.Error(p, "The member is not engaged", "reason", p.Reason, "retryAfter", wait.String())
		}
		c.update(func(seen *observation) {
			seen.phase, seen.problem, seen.engagedAt = phaseFailing, p, time.Time{}
			// Only a claim that was read says who holds the member; one that was not stays as last seen.
			if p.Reason == v1alpha1.ReasonClaimedByAnotherHub {
				seen.claim = &install.Finding{OK: false, Reason: p.Reason, Message: p.Message}
			}
		})
		if !c.Pause(wait) {
			return
		}
	}
}

// leave is run of a leaving incarnation.
func (c *connection) leave() {
	leaver := &leave.Leaver{Options: &c.provider.opts, Target: &c.target, Renderer: c.provider.admission, Pace: c.pace, Link: c, Log: c.log}
	how, left := leaver.Leave(c.ctx)
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.left, c.departure = left, how
}

// Sibling implements leave.Link.
func (c *connection) Sibling() string { return c.provider.sibling(c.target.Name) }

// await notes that the member is not engaged because the leader has not been there yet.
func (c *connection) await(p *remote.Problem) {
	c.log.V(1).Info("The member is not engaged yet", "error", p.Error())
	c.update(func(seen *observation) {
		seen.phase, seen.problem, seen.engagedAt, seen.awaited = phaseConnecting, nil, time.Time{}, true
	})
}

// Pause waits for d or a wake-up; it returns false when the connection is to end.
func (c *connection) Pause(d time.Duration) bool {
	select {
	case <-c.ctx.Done():
		return false
	case <-time.After(d):
	case <-c.poke:
	}
	return true
}

// update changes what is known about the member and has status written.
func (c *connection) update(change func(*observation)) {
	c.provider.mu.Lock()
	change(&c.seen)
	c.shareLocked()
	c.provider.mu.Unlock()
	c.provider.notify(c.target.Name)
}

// contact notes that the member answered; nobody has to be told.
func (c *connection) contact() {
	c.provider.mu.Lock()
	c.seen.lastContact = c.provider.opts.Now()
	c.provider.mu.Unlock()
}

// attempt connects once and serves the member until it ends or fails. It returns whether the member was
// engaged, and why it is not any more.
func (c *connection) attempt() (wasEngaged bool, err error) {
	apis, err := c.provider.opts.APIs(&c.target, c.pace, c)
	if err != nil {
		return false, &remote.Problem{Reason: v1alpha1.ReasonKubeconfigRefused, Lasting: true, Cause: err,
			Message: "No client can be made of the kubeconfig. The operator's log holds the error."}
	}
	end := sync.OnceFunc(apis.End)
	defer end()
	// Requests end with their context; closing their connections as well makes that certain.
	defer context.AfterFunc(c.ctx, end)()
	// What was refused says more than how the attempt ended by it.
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
	if err := c.joiner.Bootstrap(c.ctx, apis, uid); err != nil {
		return false, err
	}
	if c.lookBack(c.ctx, apis.Runtime, uid) {
		c.noteRestore(uid) // nobody was watching
	}
	return c.serve(apis, uid)
}

// errUnanswered: not even the first and smallest request of an attempt was answered.
var errUnanswered = errors.New("the member does not answer")

// identify finds out which cluster answers, and that it is the one that the MemberCluster is pinned to.
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
	c.update(func(seen *observation) {
		seen.clusterUID = uid
		if err == nil {
			seen.kubernetesVersion = version
		}
	})
	return uid, err
}
