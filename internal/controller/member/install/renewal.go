package install

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
)

const (
	// claimRenewal is the interval at which a holder renews its claim.
	claimRenewal = time.Hour
	// ClaimLife is how long after its last renewal a claim blocks its holder's successor. It survives two failed renewals.
	ClaimLife = 3 * time.Hour
)

// Claimant is the installation that claims a member.
type Claimant struct {
	// Installation is its UID, and Hub free text about its hub, for users.
	Installation, Hub string
	// Predecessor is the UID of an installation whose claim it takes over, or empty.
	Predecessor string
	// Now is the time.
	Now time.Time
}

// RenewClaim renews the claim of this installation, unless it did so within the last hour. It returns no error if another
// installation holds the claim: [CheckClaim] reports that.
func RenewClaim(ctx context.Context, member client.Client, by Claimant) error {
	claim := &corev1.ConfigMap{}
	if err := member.Get(ctx, claimKey, claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	if holder, _ := claimHolder(claim); holder != by.Installation {
		return nil
	}
	// A future time comes from another clock or a manual edit: it would block a successor for longer than this installation exists.
	if renewed, ok := renewTime(claim); ok && renewed.After(by.Now.Add(-claimRenewal)) && !renewed.After(by.Now) {
		return nil
	}
	return by.write(ctx, member, claim)
}

// write renews a claim that was read. It fails with a conflict if the claim has changed since.
func (by Claimant) write(ctx context.Context, member client.Client, claim *corev1.ConfigMap) error {
	claim.Data[ClaimRenewTimeKey] = by.Now.UTC().Format(time.RFC3339)
	if err := member.Update(ctx, claim); err != nil {
		if apierrors.IsConflict(err) {
			return CheckClaim(ctx, member, by.Installation)
		}
		return fmt.Errorf("write the claim: %w", err)
	}
	return nil
}

// tooEarly returns the reason why the predecessor's claim cannot be taken over yet, or nil.
func (by Claimant) tooEarly(claim *corev1.ConfigMap) *remote.Problem {
	renewed, ok := renewTime(claim)
	if !ok {
		return &remote.Problem{Reason: v1alpha1.ReasonClaimedByAnotherHub, Lasting: true, Message: fmt.Sprintf(
			"The claim of installation %s has no time of renewal, so it is unknown whether that installation runs. If it is lost for "+
				"good, delete ConfigMap %s in the member's namespace %s.", by.Predecessor, ClaimName, metav1.NamespaceSystem)}
	}
	if at := renewed.Add(ClaimLife); by.Now.Before(at) {
		return &remote.Problem{Reason: v1alpha1.ReasonClaimedByAnotherHub, Lasting: true, Message: fmt.Sprintf(
			"Installation %s renewed its claim at %s: it lives, or was lost a short while ago. If it renews it no more, the member is "+
				"taken over at %s.", by.Predecessor, renewed.Format(time.RFC3339), at.Format(time.RFC3339))}
	}
	return nil
}

func renewTime(claim *corev1.ConfigMap) (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, claim.Data[ClaimRenewTimeKey])
	return at.UTC(), err == nil
}
