package settings

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
)

// Target is the member that one incarnation connects to.
type Target struct {
	Name    string
	Created time.Time
	// Fingerprint changes with every change that needs a new incarnation.
	Fingerprint string
	// Config as parsed; nil only for a leaving incarnation of a member whose kubeconfig was deleted.
	Config *rest.Config
	// Bootstrap is the identity with which the member is claimed and equipped; nil if Config is it.
	Bootstrap *rest.Config
	// Token and BootstrapToken authenticate with Config and Bootstrap, which do not have them. They are nil if these have
	// other credentials. An incarnation keeps its own, and replaces their values.
	Token, BootstrapToken *remote.Token
	Renewal               Renewal
	Manage                v1alpha1.Manage
	Settings              fleet.Settings
	// Predecessor is the installation whose claim and groups are taken over, or empty.
	Predecessor string
	// UID of the MemberCluster.
	UID       types.UID
	Admission Admission
	// KnownUID is the UID of the cluster that the MemberCluster is pinned to and can have, "" if there is none yet. The
	// operator accesses no other.
	KnownUID string
	// Secret is the name of the kubeconfig's Secret, "" for the hub itself.
	Secret string
	// EquippedUID is the cluster that had a usable CRD at the last write of status, "" if none.
	EquippedUID string
	// Leaving incarnations release the claim and end.
	Leaving bool
}

// Renewal specifies how tokens are renewed.
type Renewal struct {
	// Lifetime is requested for each token. It is zero if the operator renews none.
	Lifetime time.Duration
	// Config and Bootstrap are the fingerprints of both configurations; see [credential.Fingerprint].
	Config, Bootstrap string
}

// Admission is spec.admission; it changes without a new connection.
type Admission struct {
	URL           string
	FailurePolicy v1alpha1.AdmissionFailurePolicy
}

// Pinned verifies that the MemberCluster is pinned to the cluster that answers.
func (t *Target) Pinned(found string) error {
	switch t.KnownUID {
	case found:
		return nil
	case "":
		return &remote.Problem{Reason: v1alpha1.ReasonConnecting, Waiting: true,
			Message: "The hub has not noted yet which cluster this is; the replica that leads does that."}
	}
	return t.AnotherCluster(found)
}

// AnotherCluster is the problem of a kubeconfig that leads to another cluster.
func (t *Target) AnotherCluster(found string) *remote.Problem {
	return &remote.Problem{Reason: v1alpha1.ReasonAnotherCluster, Lasting: true, Message: fmt.Sprintf(
		"%s is another cluster: its namespace kube-system has UID %s, and this MemberCluster is pinned to %s (spec.clusterUID). "+
			"Nothing is done there, and the VmGroups of the pinned cluster and their VMs stay as they are. %s",
		t.Config.Host, found, t.KnownUID, t.wayBack())}
}

func (t *Target) wayBack() string {
	if t.Secret == "" {
		return "If this cluster is to be served, delete this MemberCluster and create it again."
	}
	return fmt.Sprintf("Put the kubeconfig of the pinned cluster back into Secret %q; or, if the other cluster is to be served, "+
		"delete this MemberCluster and create a new one.", t.Secret)
}

// Renew takes the tokens of a target with the same fingerprint, and reports whether one was another.
func (t *Target) Renew(from *Target) bool {
	renewed := renew(t.Token, from.Token)
	return renew(t.BootstrapToken, from.BootstrapToken) || renewed
}

func renew(token, from *remote.Token) bool {
	return token != nil && from != nil && token.Replace(from.Value())
}
