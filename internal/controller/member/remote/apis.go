package remote

import (
	"context"
	"errors"
	"fmt"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// APIs are the identities of one incarnation in its member. They are the same unless the MemberCluster names a
// bootstrap identity.
type APIs struct {
	// Runtime identifies the member, checks its health and releases groups. Groups are watched and written with it.
	Runtime *API
	// Bootstrap claims and equips the member and keeps its admission objects.
	Bootstrap *API
	// Guard of both.
	Guard *Guard
}

// Separate reports whether there are two.
func (a APIs) Separate() bool { return a.Bootstrap != a.Runtime }

// End closes all connections permanently.
func (a APIs) End() {
	a.Bootstrap.End()
	a.Runtime.End()
}

// SameCluster verifies that the bootstrap identity is one of the cluster with this UID, which is the runtime
// identity's.
func (a APIs) SameCluster(ctx context.Context, uid string) error {
	if !a.Separate() {
		return nil
	}
	found, err := a.Bootstrap.ClusterUID(ctx, a.Bootstrap.timeouts.Request)
	if err != nil {
		return a.BootstrapProblem(err)
	}
	if found != uid {
		return &Problem{Reason: v1alpha1.ReasonKubeconfigRefused, Lasting: true, Message: fmt.Sprintf(
			"The kubeconfig of spec.bootstrapKubeconfigSecretRef leads to another cluster: the namespace kube-system has UID %s "+
				"at %s, and %s at %s. Nothing is installed. Correct one of the two Secrets.",
			found, a.Bootstrap.Host(), uid, a.Runtime.Host())}
	}
	return nil
}

// BootstrapProblem adds to an error that it comes from the bootstrap identity.
func (a APIs) BootstrapProblem(err error) error {
	var known *Problem
	if !a.Separate() || errors.As(err, &known) || errors.Is(err, ErrNotLeading) {
		return err
	}
	p := Classify(a.Bootstrap.Host(), err)
	p.Message = "With the kubeconfig of spec.bootstrapKubeconfigSecretRef: " + p.Message
	return p
}
