package link

import (
	"context"
	"errors"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/caches"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/join"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
)

// failuresUntilUnreachable is the number of failed health checks in a row; one lost packet changes no status.
const failuresUntilUnreachable = 2

// watchHealth checks an engaged member until ctx ends or the member must be disengaged: its claim has another holder,
// another cluster answers, or an older MemberCluster turns out to be the same cluster. An unresponsive member is not
// disengaged: it stays engaged with warm caches, and its Ready condition reports that it is unreachable. A missing claim
// does not disengage it either: the leader takes it again, and until then the other replicas do nothing there.
func (c *connection) watchHealth(ctx context.Context, apis remote.APIs, uid string, kept *caches.Informers, stopped chan error) error {
	api, timings := apis.Runtime, c.provider.opts.Timings
	failures, isBehind := 0, false
	last := join.Upkeep{Audited: c.provider.opts.Now()}
	lookedBack := last.Audited
	wait := settings.Spread(timings.HealthInterval) // spreads the checks of members
	for {
		if err := c.untilCheck(ctx, wait, stopped); err != nil {
			return err
		}
		wait = timings.HealthInterval
		if elder := c.provider.elder(c, uid); elder != "" {
			return join.Duplicate(elder)
		}
		err := c.check(ctx, apis, uid)
		var known *remote.Problem
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &known) && known.Lasting:
			return err
		case errors.Is(err, remote.ErrNotLeading):
			// The operator can give up the member at this moment, and another installation can claim it in the next.
			failures = max(failures, failuresUntilUnreachable)
			wait = min(wait, timings.Await)
			c.enter(Silent, remote.WaitForLeader(err))
			continue
		case err != nil:
			failures++
			wait = min(wait, time.Second)
			if failures < failuresUntilUnreachable {
				continue
			}
			c.silent(api, err, failures)
			continue
		}
		c.contact()
		// A restore of its storage stops an API server, which can be back before it counts as unreachable.
		if now := c.provider.opts.Now(); failures > 0 || now.Sub(lookedBack) >= timings.Revision {
			lookedBack = now
			if c.lookBack(ctx, api, uid) {
				return errRestored
			}
		}
		recovered := failures >= failuresUntilUnreachable
		failures = 0
		wait = min(wait, c.joiner.KeepUp(c.ctx, apis, uid, recovered, &last))
		behind := kept.Problem(api.Host())
		switch {
		case behind != nil:
			if !isBehind {
				c.log.Error(behind, "The member answers, but its caches are behind")
			}
			c.enter(Silent, behind)
		case recovered || isBehind:
			c.log.Info("The member is served again")
			c.renewer.Wake()
			c.enter(Engaged, nil)
		}
		isBehind = behind != nil
	}
}

// untilCheck waits for the time of the next check or a wake-up. The error is the reason why no check follows.
func (c *connection) untilCheck(ctx context.Context, wait time.Duration, stopped chan error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-stopped:
		stopped <- nil // serve waits for it
		return errors.Join(errClusterStopped, err)
	case <-c.poke:
	case <-time.After(wait):
	}
	return nil
}

// check is one health check: the API server works, the credentials are valid, it is still the same cluster, and that is
// still ours. An address can change to another member of this hub, whose claim is identical.
func (c *connection) check(ctx context.Context, apis remote.APIs, uid string) error {
	api := apis.Runtime
	timeout := c.provider.opts.Timings.HealthTimeout
	installation := c.provider.opts.InstallationUID
	checkCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := api.ClusterUID(checkCtx, timeout)
	if err != nil {
		return err
	}
	if found != uid {
		return c.target.AnotherCluster(found)
	}
	err = install.CheckClaim(checkCtx, api.Client, installation)
	if !errors.Is(err, install.ErrClaimMissing) {
		return err
	}
	if err := apis.SameCluster(ctx, uid); err != nil {
		return err
	}
	takeCtx, cancelTake := context.WithTimeout(ctx, timeout)
	defer cancelTake()
	if err := install.TakeClaim(takeCtx, apis.Bootstrap.Client, c.provider.opts.Claimant(&c.target)); err != nil {
		return apis.BootstrapProblem(err)
	}
	return nil
}

// silent records that the member does not answer. The first time it closes the member's connections, so that watches on dead
// connections restart as soon as the member is back.
func (c *connection) silent(api *remote.API, err error, failures int) {
	p := remote.Classify(api.Host(), err)
	if failures == failuresUntilUnreachable {
		c.log.Error(err, "The member does not answer; it stays engaged", "reason", p.Reason)
		api.Reset()
	}
	p.Message += " VmGroups and VMs stay as they are until the member answers again."
	c.enter(Silent, p)
}
