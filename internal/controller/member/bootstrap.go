package member

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// memberAPIs are the identities of one incarnation in its member. They are the same unless the MemberCluster names a
// bootstrap identity.
type memberAPIs struct {
	// runtime identifies the member, watches its health and lets groups go. Groups are watched and written with it.
	runtime *memberAPI
	// bootstrap claims and equips the member and keeps its admission objects.
	bootstrap *memberAPI
}

func (a memberAPIs) separate() bool { return a.bootstrap != a.runtime }

// end closes all connections for good.
func (a memberAPIs) end() {
	a.bootstrap.transport.end()
	a.runtime.transport.end()
}

// newAPIs dials nothing. The caller ends them.
func (c *connection) newAPIs() (memberAPIs, error) {
	timings := c.provider.opts.Timings
	runtime, err := newAPI(c.clientConfig(c.target.config), timings, c.mayWrite)
	if err != nil {
		return memberAPIs{}, err
	}
	result := memberAPIs{runtime: runtime, bootstrap: runtime}
	if c.target.bootstrap != nil {
		if result.bootstrap, err = newAPI(c.clientConfig(c.target.bootstrap), timings, c.mayWrite); err != nil {
			return memberAPIs{}, fmt.Errorf("bootstrap kubeconfig: %w", err)
		}
	}
	return result, nil
}

// sameCluster checks that the bootstrap identity is one of the cluster with this UID, which is the runtime identity's.
func (a memberAPIs) sameCluster(ctx context.Context, uid string) error {
	if !a.separate() {
		return nil
	}
	found, err := a.bootstrap.clusterUID(ctx, a.bootstrap.timings.Request)
	if err != nil {
		return a.bootstrapProblem(err)
	}
	if found != uid {
		return &problem{reason: v1alpha1.ReasonKubeconfigRefused, lasting: true, message: fmt.Sprintf(
			"The kubeconfig of spec.bootstrapKubeconfigSecretRef leads to another cluster: the namespace kube-system has UID %s "+
				"at %s, and %s at %s. Nothing is installed. Correct one of the two Secrets.",
			found, a.bootstrap.config.Host, uid, a.runtime.config.Host)}
	}
	return nil
}

// bootstrapProblem says of an error whose identity it was.
func (a memberAPIs) bootstrapProblem(err error) error {
	var known *problem
	if !a.separate() || errors.As(err, &known) || errors.Is(err, errNotLeading) {
		return err
	}
	p := classify(a.bootstrap.config.Host, err)
	p.message = "With the kubeconfig of spec.bootstrapKubeconfigSecretRef: " + p.message
	return p
}

// bootstrap claims the member and sees to its CRD, or finds that done. Where it is not, a replica that does not lead
// gets errNotLeading.
func (c *connection) bootstrap(apis memberAPIs, uid string) error {
	err := c.claimAndEquip(apis, uid)
	if err == nil || !apis.separate() || !c.servable(apis, uid, err) {
		return err
	}
	c.log.Info("The bootstrap identity fails; the member is served all the same, as it was equipped before", "problem", err.Error())
	return nil
}

// servable reports whether a member can be served though the bootstrap identity failed with err: it was equipped
// before, and the claim is ours. A token that has run out must not end the care for groups.
func (c *connection) servable(apis memberAPIs, uid string, err error) bool {
	var known *problem
	if c.target.equippedUID != uid || !errors.As(err, &known) || known.lasting {
		return false
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	if checkClaim(ctx, apis.runtime.client, c.provider.opts.InstallationUID) != nil {
		return false
	}
	c.claimed()
	return true
}

func (c *connection) claimAndEquip(apis memberAPIs, uid string) error {
	if err := apis.sameCluster(c.ctx, uid); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	if err := takeClaim(ctx, apis.bootstrap.client, c.provider.opts.InstallationUID, c.provider.opts.HubName); err != nil {
		if errors.Is(err, errClaimMissing) {
			return &problem{reason: v1alpha1.ReasonMemberUnreachable, cause: err,
				message: "The claim on the member was deleted while it was taken; it is taken again."}
		}
		return apis.bootstrapProblem(err)
	}
	c.claimed()
	if err := c.equip(apis.bootstrap); err != nil {
		return apis.bootstrapProblem(err)
	}
	return nil
}

func (c *connection) claimed() {
	c.update(func(seen *observation) {
		seen.claim = &finding{true, v1alpha1.ReasonClaimed, "This installation holds the claim on the member."}
	})
}

// equip sees to the member's CRD. A member without a usable CRD is a lasting problem.
func (c *connection) equip(api *memberAPI) error {
	timings := c.provider.opts.Timings
	ctx, cancel := context.WithTimeout(c.ctx, 3*timings.Request+timings.Establish)
	defer cancel()
	mayWrite := c.mayWrite()
	c.equipped = false
	result, err := ensureCRD(ctx, api.client, c.provider.opts.VmGroupCRD(), c.target.manage, timings)
	if err != nil {
		return err
	}
	c.update(func(seen *observation) { seen.crd, seen.crdVersion = &result.finding, result.version })
	if !result.finding.ok {
		return &problem{reason: result.finding.reason, message: result.finding.message, lasting: true}
	}
	c.equipped = mayWrite
	return nil
}
