package install

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// Finding is the state of one condition of a member; a nil *Finding is "not known".
type Finding struct {
	OK bool
	// Reason and Message of the condition.
	Reason, Message string
}

const (
	// ClaimName is the ConfigMap in a member's namespace kube-system that names the installation that serves it.
	ClaimName = "vmgroup-operator-claim"
	// ClaimInstallationKey in the claim's data holds the installation's UID.
	ClaimInstallationKey = "installation"
	// ClaimRenewTimeKey in the claim's data holds the time of the holder's last renewal, in RFC 3339. A claim without one comes from
	// a holder that does not renew it, so that its age has no meaning.
	ClaimRenewTimeKey = "renewTime"
	// ClaimHubKey in the claim's data holds free text about the hub, for users.
	ClaimHubKey = "hub"
)

var claimKey = types.NamespacedName{Namespace: metav1.NamespaceSystem, Name: ClaimName}

// ErrClaimMissing means that the member has no claim.
var ErrClaimMissing = errors.New("the member has no claim")

// claimHolder returns the installation and hub that hold claim; an unreadable claim is held by "".
func claimHolder(claim *corev1.ConfigMap) (installation, hub string) {
	return claim.Data[ClaimInstallationKey], claim.Data[ClaimHubKey]
}

// claimedByAnother is the problem of a member whose claim belongs to another installation. Both texts come from the member, so
// they are quoted and cut.
func claimedByAnother(claim *corev1.ConfigMap) *remote.Problem {
	installation, hub := claimHolder(claim)
	takeover := fmt.Sprintf("it cannot be taken over as it is, since its claim (ConfigMap %s in namespace %s of the member) names no installation", claimKey.Name, claimKey.Namespace)
	if remote.IsPlainUID(installation) { // users copy this into a shell
		takeover = fmt.Sprintf("annotate this MemberCluster, and the VCenters of its groups, with %s=%s: the groups and their VMs are then adopted as they are",
			v1alpha1.PredecessorAnnotation, installation)
	}
	return &remote.Problem{Reason: v1alpha1.ReasonClaimedByAnotherHub, Lasting: true, Message: fmt.Sprintf(
		"The member is served by installation %s of hub %s. Nothing is done here. Delete its MemberCluster on that "+
			"hub. If that hub is lost for good, %s.", untrusted.Quoted(installation), untrusted.Quoted(hub), takeover)}
}

// CheckClaim reads the claim. It returns nil if this installation holds it, [ErrClaimMissing], a lasting [*remote.Problem] if
// another one does, or the error of reading it.
func CheckClaim(ctx context.Context, member client.Reader, installation string) error {
	claim := &corev1.ConfigMap{}
	if err := member.Get(ctx, claimKey, claim); err != nil {
		if apierrors.IsNotFound(err) {
			return ErrClaimMissing
		}
		return fmt.Errorf("read the claim: %w", err)
	}
	if holder, _ := claimHolder(claim); holder != installation {
		return claimedByAnother(claim)
	}
	return nil
}

// TakeClaim claims the member. Create is the lock: of two concurrent hubs, one gets AlreadyExists, and finds the other's name. It
// takes over the claim of the predecessor after [ClaimLife] without a renewal. Errors are those of [CheckClaim], and
// [remote.ErrNotLeading].
func TakeClaim(ctx context.Context, member client.Client, by Claimant) error {
	claim := &corev1.ConfigMap{}
	err := member.Get(ctx, claimKey, claim)
	if apierrors.IsNotFound(err) {
		err = member.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: claimKey.Namespace,
				Name:      claimKey.Name,
				Labels:    map[string]string{"app.kubernetes.io/managed-by": "vmgroup-operator"},
			},
			Data: map[string]string{ClaimInstallationKey: by.Installation, ClaimHubKey: by.Hub},
		})
		if apierrors.IsAlreadyExists(err) {
			return CheckClaim(ctx, member, by.Installation)
		}
		if err != nil {
			return fmt.Errorf("create the claim: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the claim: %w", err)
	}
	holder, _ := claimHolder(claim)
	switch {
	case holder == by.Installation:
		return nil
	case holder == "" || holder != by.Predecessor:
		return claimedByAnother(claim)
	}
	if problem := by.tooEarly(claim); problem != nil {
		return problem
	}
	claim.Data[ClaimInstallationKey], claim.Data[ClaimHubKey] = by.Installation, by.Hub
	return by.write(ctx, member, claim)
}

// ReleaseClaim deletes the claim if this installation holds it. The delete has the UID of the object that was read, so that a
// claim with a new holder is kept.
func ReleaseClaim(ctx context.Context, member client.Client, installation string) error {
	claim := &corev1.ConfigMap{}
	if err := member.Get(ctx, claimKey, claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	if holder, _ := claimHolder(claim); holder != installation {
		return nil
	}
	err := member.Delete(ctx, claim, client.Preconditions{
		UID:             ptr.To(claim.UID),
		ResourceVersion: ptr.To(claim.ResourceVersion),
	})
	return client.IgnoreNotFound(err)
}
