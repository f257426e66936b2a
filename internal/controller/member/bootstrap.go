package member

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// newAPIs dials nothing. The caller ends them.
func (c *connection) newAPIs() (remote.APIs, error) {
	opts := &c.provider.opts
	bounds := remote.Bounds{Timeouts: opts.Timings.remote(), Guard: remote.NewGuard(opts.Limits, c.pace), Addresses: opts.Addresses}
	if c.target.name == v1alpha1.LocalMember {
		bounds.Addresses = remote.Addresses{} // it is the hub itself
	}
	runtime, err := remote.New(c.clientConfig(c.target.config), bounds, c)
	if err != nil {
		return remote.APIs{}, err
	}
	result := remote.APIs{Runtime: runtime, Bootstrap: runtime, Guard: bounds.Guard}
	if c.target.bootstrap != nil {
		if result.Bootstrap, err = remote.New(c.clientConfig(c.target.bootstrap), bounds, c); err != nil {
			return remote.APIs{}, fmt.Errorf("bootstrap kubeconfig: %w", err)
		}
	}
	return result, nil
}

// bootstrap claims the member and sees to its CRD, or finds that done. Where it is not, a replica that does not lead
// gets [remote.ErrNotLeading].
func (c *connection) bootstrap(apis remote.APIs, uid string) error {
	err := c.claimAndEquip(apis, uid)
	if err == nil || !apis.Separate() || !c.servable(apis, uid, err) {
		return err
	}
	c.log.Error(err, "The bootstrap identity fails; the member is served all the same, as it was equipped before")
	return nil
}

// servable reports whether a member can be served though the bootstrap identity failed with err: it was equipped
// before, and the claim is ours. A token that has run out must not end the care for groups.
func (c *connection) servable(apis remote.APIs, uid string, err error) bool {
	var known *remote.Problem
	if c.target.equippedUID != uid || !errors.As(err, &known) || known.Lasting {
		return false
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	if install.CheckClaim(ctx, apis.Runtime.Client, c.provider.opts.InstallationUID) != nil {
		return false
	}
	c.claimed()
	return true
}

func (c *connection) claimAndEquip(apis remote.APIs, uid string) error {
	if err := apis.SameCluster(c.ctx, uid); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	if err := install.TakeClaim(ctx, apis.Bootstrap.Client, c.claimant()); err != nil {
		if errors.Is(err, install.ErrClaimMissing) {
			return &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable, Cause: err,
				Message: "The claim on the member was deleted while it was taken; it is taken again."}
		}
		return apis.BootstrapProblem(err)
	}
	c.claimed()
	if err := c.equip(apis.Bootstrap); err != nil {
		return apis.BootstrapProblem(err)
	}
	return nil
}

// claimant is who we are to the member.
func (c *connection) claimant() install.Claimant {
	opts := c.provider.opts
	return install.Claimant{Installation: opts.InstallationUID, Hub: opts.HubName, Predecessor: c.target.predecessor, Now: opts.Now()}
}

// renewClaim writes into the claim that this installation lives. A member is served also where that fails; then nobody can
// take over from this installation without a person.
func (c *connection) renewClaim(apis remote.APIs) {
	if !c.Leading() {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	finding := install.Finding{OK: true, Reason: v1alpha1.ReasonClaimed, Message: "This installation holds the claim on the member."}
	if err := install.RenewClaim(ctx, apis.Bootstrap.Client, c.claimant()); err != nil {
		if errors.Is(err, remote.ErrNotLeading) {
			return
		}
		c.log.Error(err, "The claim on the member could not be renewed")
		if apierrors.IsForbidden(err) {
			finding.Message += " It may not renew it: " + remote.AnswerOf(err) + ". " + remote.RenewRoles
		}
	}
	c.update(func(seen *observation) { seen.claim = &finding })
}

func (c *connection) claimed() {
	c.update(func(seen *observation) {
		seen.claim = &install.Finding{OK: true, Reason: v1alpha1.ReasonClaimed, Message: "This installation holds the claim on the member."}
	})
}

// equip sees to the member's CRD. A member without a usable CRD is a lasting problem; one whose CRD is being deleted is served until it is gone.
func (c *connection) equip(api *remote.API) error {
	timings := c.provider.opts.Timings
	ctx, cancel := context.WithTimeout(c.ctx, 3*timings.Request+timings.Establish)
	defer cancel()
	mayWrite := c.Leading()
	c.equipped = false
	result, err := install.EnsureCRD(ctx, api.Client, crd.VmGroupCRD(), c.target.manage, timings.Establish)
	if err != nil {
		return err
	}
	c.update(func(seen *observation) { seen.crd, seen.crdVersion = &result.Finding, result.Version })
	if result.Finding.Reason == v1alpha1.ReasonCRDTerminating {
		return nil // its objects are there still, and somebody decides about each
	}
	if !result.Finding.OK {
		return &remote.Problem{Reason: result.Finding.Reason, Message: result.Finding.Message, Lasting: true}
	}
	c.equipped = mayWrite
	return nil
}
