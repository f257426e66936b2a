package member

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

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
	if c.target.EquippedUID != uid || !errors.As(err, &known) || known.Lasting {
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
	if err := install.TakeClaim(ctx, apis.Bootstrap.Client, c.provider.opts.Claimant(&c.target)); err != nil {
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

// renewClaim writes into the claim that this installation lives. A member is served also where that fails; then nobody can
// take over from this installation without a person.
func (c *connection) renewClaim(apis remote.APIs) {
	if !c.Leading() {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, c.provider.opts.Timings.Request)
	defer cancel()
	finding := install.Finding{OK: true, Reason: v1alpha1.ReasonClaimed, Message: "This installation holds the claim on the member."}
	if err := install.RenewClaim(ctx, apis.Bootstrap.Client, c.provider.opts.Claimant(&c.target)); err != nil {
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
	result, err := install.EnsureCRD(ctx, api.Client, crd.VmGroupCRD(), c.target.Manage, timings.Establish)
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
