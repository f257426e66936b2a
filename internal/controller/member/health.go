package member

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// failuresUntilUnreachable is how many health checks in a row must fail; one lost packet changes no status.
const failuresUntilUnreachable = 2

// watchHealth checks an engaged member until ctx ends or the member must be disengaged: its claim changed
// hands, another cluster answers, or an older MemberCluster turned out to be the same cluster. Silence is no
// such thing: the member stays engaged with warm caches, and its Ready condition says that it is unreachable. Nor is
// a missing claim: the leader takes it again, and until then the other replicas do nothing there.
func (c *connection) watchHealth(ctx context.Context, apis memberAPIs, uid string, stopped chan error) error {
	api, timings := apis.runtime, c.provider.opts.Timings
	failures := 0
	audited := c.provider.opts.Now()
	wait := spread(timings.HealthInterval) // members are not all asked at once
	for {
		if err := c.untilCheck(ctx, wait, stopped); err != nil {
			return err
		}
		wait = timings.HealthInterval
		if elder := c.provider.elder(c, uid); elder != "" {
			return duplicateOf(elder)
		}
		err := c.check(ctx, apis, uid, failures > 0)
		var known *problem
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &known) && known.lasting:
			return err
		case errors.Is(err, errNotLeading):
			// The member may be given up at this moment, and somebody else's in the next.
			failures = max(failures, failuresUntilUnreachable)
			wait = min(wait, timings.Await)
			c.update(func(seen *observation) { seen.problem = waitForLeader(err) })
			continue
		case err != nil:
			failures++
			if failures < failuresUntilUnreachable {
				wait = min(wait, time.Second)
				continue
			}
			c.silent(api, err, failures)
			continue
		}
		c.contact()
		recovered := failures >= failuresUntilUnreachable
		failures = 0
		mayWrite := c.mayWrite()
		c.equipped = c.equipped && mayWrite
		if recovered || mayWrite && !c.equipped || c.provider.opts.Now().Sub(audited) >= timings.Audit {
			audited = c.provider.opts.Now()
			if err := c.audit(apis, uid); err != nil {
				c.log.Info("The audit of the member failed", "error", err.Error())
			}
		}
		if recovered {
			c.log.Info("The member is served again")
			c.update(func(seen *observation) { seen.problem = nil })
		}
	}
}

// untilCheck waits for the time of the next check or a wake-up. The error is why there will be none.
func (c *connection) untilCheck(ctx context.Context, wait time.Duration, stopped chan error) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-stopped:
		stopped <- nil // serve waits for it
		return errors.Join(errClusterStopped, err)
	case <-c.poke:
	case <-timer.C:
	}
	return nil
}

// check is one health check. Reading our claim answers all questions with one request: the API server
// works, the credentials are good, and the member is still ours.
func (c *connection) check(ctx context.Context, apis memberAPIs, uid string, suspicious bool) error {
	api := apis.runtime
	timeout := c.provider.opts.Timings.HealthTimeout
	installation := c.provider.opts.InstallationUID
	checkCtx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := checkClaim(checkCtx, api.client, installation)
	missing := errors.Is(err, errClaimMissing)
	if err != nil && !missing {
		return err
	}
	if !missing && !suspicious {
		return nil
	}
	// The claim is gone, or the member was away: make sure that it is still the same cluster before anything
	// is written to it.
	found, err := api.clusterUID(ctx, timeout)
	if err != nil {
		return err
	}
	if found != uid {
		return &problem{reason: v1alpha1.ReasonMemberUnreachable, lasting: true, message: fmt.Sprintf(
			"%s is another cluster now (its namespace kube-system was %s and is %s). It is joined anew.",
			api.config.Host, uid, found)}
	}
	if !missing {
		return nil
	}
	if err := apis.sameCluster(ctx, uid); err != nil {
		return err
	}
	takeCtx, cancelTake := context.WithTimeout(ctx, timeout)
	defer cancelTake()
	if err := takeClaim(takeCtx, apis.bootstrap.client, installation, c.provider.opts.HubName); err != nil {
		return apis.bootstrapProblem(err)
	}
	return nil
}

// silent notes that the member does not answer. The first time its connections are closed, so that watches
// on a connection that nobody answers are begun anew as soon as the member is back.
func (c *connection) silent(api *memberAPI, err error, failures int) {
	p := classify(api.config.Host, err)
	if failures == failuresUntilUnreachable {
		c.log.Info("The member does not answer; it stays engaged", "reason", p.reason, "cause", err.Error())
		api.transport.reset()
	}
	p.message += " It stays engaged with what was last seen of it."
	c.update(func(seen *observation) { seen.problem = p })
}

// audit refreshes what changes rarely: the member's version and its CRD.
func (c *connection) audit(apis memberAPIs, uid string) error {
	version, err := apis.runtime.version(c.ctx)
	if err != nil {
		return err
	}
	c.update(func(seen *observation) { seen.kubernetesVersion = version })
	if err := apis.sameCluster(c.ctx, uid); err != nil {
		return err
	}
	return c.equip(apis.bootstrap)
}
