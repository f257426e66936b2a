package join

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

// Bootstrap claims the member and ensures its CRD, or finds both done. If they are not done, a replica that does not lead gets
// [remote.ErrNotLeading].
func (j *Joiner) Bootstrap(ctx context.Context, apis remote.APIs, uid string) error {
	err := j.claimAndEquip(ctx, apis, uid)
	if err == nil || !apis.Separate() || !j.servable(ctx, apis, uid, err) {
		return err
	}
	j.log.Error(err, "The bootstrap identity fails; the member is served all the same, as it was equipped before")
	return nil
}

// servable reports whether a member can be served although the bootstrap identity failed with err: it was equipped before, and
// the claim is ours. An expired token must not stop the operator from managing groups.
func (j *Joiner) servable(ctx context.Context, apis remote.APIs, uid string, err error) bool {
	var known *remote.Problem
	if j.of.EquippedUID != uid || !errors.As(err, &known) || known.Lasting {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, j.options.Timings.Request)
	defer cancel()
	if install.CheckClaim(ctx, apis.Runtime.Client, j.options.InstallationUID) != nil {
		return false
	}
	j.claimed()
	return true
}

func (j *Joiner) claimAndEquip(ctx context.Context, apis remote.APIs, uid string) error {
	if err := apis.SameCluster(ctx, uid); err != nil {
		return err
	}
	claimCtx, cancel := context.WithTimeout(ctx, j.options.Timings.Request)
	defer cancel()
	if err := install.TakeClaim(claimCtx, apis.Bootstrap.Client, j.options.Claimant(j.of)); err != nil {
		if errors.Is(err, install.ErrClaimMissing) {
			return &remote.Problem{Reason: v1alpha1.ReasonMemberUnreachable, Cause: err,
				Message: "The claim on the member was deleted while it was taken; it is taken again."}
		}
		return apis.BootstrapProblem(err)
	}
	j.claimed()
	if err := j.equip(ctx, apis.Bootstrap); err != nil {
		return apis.BootstrapProblem(err)
	}
	return nil
}

// renewClaim renews the claim of this installation. If it fails, the member is still served; then a successor needs a user to
// take over from this installation.
func (j *Joiner) renewClaim(ctx context.Context, apis remote.APIs) {
	if !j.link.Leading() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, j.options.Timings.Request)
	defer cancel()
	finding := heldClaim
	if err := install.RenewClaim(ctx, apis.Bootstrap.Client, j.options.Claimant(j.of)); err != nil {
		if errors.Is(err, remote.ErrNotLeading) {
			return
		}
		j.log.Error(err, "The claim on the member could not be renewed")
		if apierrors.IsForbidden(err) {
			finding.Message += " It may not renew it: " + remote.AnswerOf(err) + ". " + remote.RenewRoles
		}
	}
	j.link.NoteClaim(finding)
}

func (j *Joiner) claimed() { j.link.NoteClaim(heldClaim) }

// equip ensures the member's CRD. A member without a usable CRD is a lasting problem. One whose CRD is being deleted is served until the CRD is
// deleted.
func (j *Joiner) equip(ctx context.Context, api *remote.API) error {
	timings := j.options.Timings
	ctx, cancel := context.WithTimeout(ctx, 3*timings.Request+timings.Establish)
	defer cancel()
	mayWrite := j.link.Leading()
	j.equipped = false
	result, err := install.EnsureCRD(ctx, api.Client, crd.VmGroupCRD(), j.of.Manage, timings.Establish)
	if err != nil {
		return err
	}
	j.note(result.Finding, result.Version)
	if result.Finding.Reason == v1alpha1.ReasonCRDTerminating {
		return nil // its objects still exist, and users decide about each
	}
	if !result.Finding.OK {
		return &remote.Problem{Reason: result.Finding.Reason, Message: result.Finding.Message, Lasting: true}
	}
	j.equipped = mayWrite
	return nil
}
