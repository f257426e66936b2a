package member

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leave releases the claim on a member that is removed. The incarnation before this one has ended, so nothing
// acts on the member any more. The CRD, the groups and their VMs stay. A member that cannot be reached does
// not hold up its removal for ever: after Timings.Leave it is let go, and leftBehind tells a person so.
func (c *connection) leave() {
	if c.target.config == nil {
		c.setLeft("there is no usable kubeconfig.")
		return
	}
	if sibling := c.provider.sibling(c.target.name); sibling != "" {
		c.log.Info("The claim on the member stays: another MemberCluster is the same cluster", "other", sibling)
		c.setLeft("")
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Leave)
	defer cancel()
	pause := backoff{
		least: c.provider.opts.Timings.BackoffMin, most: c.provider.opts.Timings.BackoffMax, random: c.provider.opts.Random,
	}
	for {
		err := c.releaseOnce(ctx)
		if err == nil {
			c.log.Info("The claim on the member was released")
			c.setLeft("")
			return
		}
		c.log.Info("The claim on the member could not be released", "error", err.Error())
		wait := pause.next()
		deadline, _ := ctx.Deadline()
		tooLate := ctx.Err() != nil || c.provider.opts.Now().Add(wait).After(deadline) || !c.pause(wait)
		if c.ctx.Err() != nil {
			return // the operator stops: the next process goes on, the finalizer is still there
		}
		if tooLate {
			c.setLeft(asProblem(c.target.config.Host, err).message)
			return
		}
	}
}

func (c *connection) releaseOnce(ctx context.Context) error {
	api, err := newAPI(c.clientConfig(), c.provider.opts.Timings)
	if err != nil {
		return err
	}
	defer api.transport.end()
	requestCtx, cancel := context.WithTimeout(ctx, c.provider.opts.Timings.Request)
	defer cancel()
	return releaseClaim(requestCtx, api.client, c.provider.opts.InstallationUID)
}

// setLeft ends the leaving; why says what kept the claim from being released, and is empty if nothing did.
func (c *connection) setLeft(why string) {
	c.provider.mu.Lock()
	defer c.provider.mu.Unlock()
	c.left = true
	if why == "" {
		return
	}
	c.leftBehind = fmt.Sprintf("The claim on the member could not be released: %s Before another hub can serve the "+
		"member, delete ConfigMap %s in its namespace %s.", why, ClaimName, metav1.NamespaceSystem)
}
