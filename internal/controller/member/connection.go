package member

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// settings of a member change without a new connection.
type settings struct {
	paused          bool
	userDataSecrets v1alpha1.UserDataSecrets
}

// target is what one incarnation connects to.
type target struct {
	name    string
	created time.Time
	// fingerprint changes with everything that needs a new incarnation.
	fingerprint string
	// config as parsed; nil only for a leaving incarnation of a member whose kubeconfig is gone.
	config   *rest.Config
	manage   v1alpha1.Manage
	settings settings
	// leaving incarnations release the claim and end.
	leaving bool
}

// connection is one incarnation of a member: a goroutine (run) that connects, engages, watches the member's
// health and retries until it is ended. It never changes its target. Fields below the line are guarded by
// the Provider's lock.
type connection struct {
	provider *Provider
	target   target
	log      logr.Logger
	ctx      context.Context
	cancel   context.CancelFunc
	// previous incarnation, waited for before anything is done.
	previous *connection
	// done is closed when run has ended, and with it every goroutine of this incarnation.
	done chan struct{}
	// poke ends a pause early; it holds one wake-up.
	poke chan struct{}

	// ----
	ending     bool
	settings   settings
	seen       observation
	cluster    cluster.Cluster // nil unless engaged
	engaged    *Member         // nil unless engaged
	left       bool            // a leaving incarnation is through
	leftBehind string
}

func newConnection(p *Provider, target target, previous *connection) *connection {
	ctx, cancel := context.WithCancel(p.ctx)
	return &connection{
		provider: p,
		target:   target,
		log:      p.opts.Logger.WithValues("member", target.name),
		ctx:      ctx,
		cancel:   cancel,
		previous: previous,
		done:     make(chan struct{}),
		poke:     make(chan struct{}, 1),
		settings: target.settings,
	}
}

// endLocked disengages the member at once and lets the goroutine end. The caller holds the Provider's lock.
func (c *connection) endLocked() {
	c.ending = true
	c.cluster, c.engaged = nil, nil
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

// wake ends a pause of the connection early; it never blocks.
func (c *connection) wake() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// run is the connection's goroutine.
func (c *connection) run() {
	defer c.provider.notify(c.target.name)
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
	if c.target.leaving {
		c.leave()
		return
	}
	pause := backoff{
		least: c.provider.opts.Timings.BackoffMin, most: c.provider.opts.Timings.BackoffMax, random: c.provider.opts.Random,
	}
	for {
		wasEngaged, err := c.attempt()
		if c.ctx.Err() != nil {
			return
		}
		if wasEngaged {
			pause.reset()
		}
		p := asProblem(c.target.config.Host, err)
		wait := pause.next()
		if p.lasting {
			pause.reset()
			wait = spread(c.provider.opts.Timings.Recheck, c.provider.opts.Random())
		}
		c.log.Info("The member is not engaged", "reason", p.reason, "problem", p.message, "retryAfter", wait.String(),
			"cause", errorText(p.cause))
		c.update(func(seen *observation) {
			seen.phase, seen.problem, seen.engagedAt = phaseFailing, p, time.Time{}
			// Only a claim that was read says who holds the member; one that was not stays as last seen.
			if p.reason == v1alpha1.ReasonClaimedByAnotherHub {
				seen.claim = &finding{false, p.reason, p.message}
			}
		})
		if !c.pause(wait) {
			return
		}
	}
}

// pause waits for d or a wake-up; it returns false when the connection is to end.
func (c *connection) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
		return false
	case <-timer.C:
	case <-c.poke:
	}
	return true
}

// update changes what is known about the member and has status written.
func (c *connection) update(change func(*observation)) {
	c.provider.mu.Lock()
	change(&c.seen)
	c.provider.mu.Unlock()
	c.provider.notify(c.target.name)
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
	api, err := newAPI(c.clientConfig(), c.provider.opts.Timings)
	if err != nil {
		return false, &problem{reason: v1alpha1.ReasonKubeconfigRefused, lasting: true, cause: err,
			message: "No client can be made of the kubeconfig. The operator's log holds the error."}
	}
	end := sync.OnceFunc(api.transport.end)
	defer end()
	// Requests end with their context; closing their connections as well makes that certain.
	defer context.AfterFunc(c.ctx, end)()

	uid, err := c.identify(api)
	if err != nil {
		return false, err
	}
	if err := c.provider.acquire(c, uid); err != nil {
		return false, err
	}
	defer c.provider.release(c, uid)
	if err := c.bootstrap(api); err != nil {
		return false, err
	}
	return c.serve(api, uid)
}

// clientConfig is the target's configuration with the operator's limits.
func (c *connection) clientConfig() *rest.Config {
	config := rest.CopyConfig(c.target.config)
	config.QPS = c.provider.opts.QPS
	config.Burst = c.provider.opts.Burst
	config.UserAgent = c.provider.opts.UserAgent
	// The hub's own configuration may carry limits that are meant for the manager. A Timeout in particular would
	// end every watch.
	config.RateLimiter, config.Timeout = nil, 0
	return config
}

func (c *connection) identify(api *memberAPI) (uid string, err error) {
	version, err := api.version(c.ctx)
	if err != nil {
		return "", err
	}
	uid, err = api.clusterUID(c.ctx, c.provider.opts.Timings.Request)
	if err != nil {
		return "", err
	}
	c.contact()
	c.update(func(seen *observation) { seen.clusterUID, seen.kubernetesVersion = uid, version })
	return uid, nil
}

// bootstrap claims the member and sees to its CRD.
func (c *connection) bootstrap(api *memberAPI) error {
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	if err := takeClaim(ctx, api.client, c.provider.opts.InstallationUID, c.provider.opts.HubName); err != nil {
		if errors.Is(err, errClaimMissing) {
			return &problem{reason: v1alpha1.ReasonMemberUnreachable, cause: err,
				message: "The claim on the member was deleted while it was taken; it is taken again."}
		}
		return err
	}
	c.update(func(seen *observation) {
		seen.claim = &finding{true, v1alpha1.ReasonClaimed, "This installation holds the claim on the member."}
	})
	return c.equip(api)
}

// equip sees to the member's CRD. A member without a usable CRD is a lasting problem.
func (c *connection) equip(api *memberAPI) error {
	timings := c.provider.opts.Timings
	ctx, cancel := context.WithTimeout(c.ctx, 3*timings.Request+timings.Establish)
	defer cancel()
	result, err := ensureCRD(ctx, api.client, c.provider.opts.VmGroupCRD(), c.target.manage, timings)
	if err != nil {
		return err
	}
	c.update(func(seen *observation) { seen.crd, seen.crdVersion = &result.finding, result.version })
	if !result.finding.ok {
		return &problem{reason: result.finding.reason, message: result.finding.message, lasting: true}
	}
	return nil
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
