package settings

import (
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// APIs are the clients of a target. They dial nothing. The caller ends them. leader is called before each
// write.
func (o *Options) APIs(of *Target, pace *remote.Pace, leader sharding.Leader) (remote.APIs, error) {
	bounds := remote.Bounds{Timeouts: o.Timings.Remote(), Guard: remote.NewGuard(o.Limits, pace), Addresses: o.Addresses}
	if of.Name == v1alpha1.LocalMember {
		bounds.Addresses = remote.Addresses{} // it is the hub itself
	}
	runtime, err := remote.New(o.clientConfig(of.Config), of.Token, bounds, leader)
	if err != nil {
		return remote.APIs{}, err
	}
	result := remote.APIs{Runtime: runtime, Bootstrap: runtime, Guard: bounds.Guard}
	if of.Bootstrap != nil {
		if result.Bootstrap, err = remote.New(o.clientConfig(of.Bootstrap), of.BootstrapToken, bounds, leader); err != nil {
			return remote.APIs{}, fmt.Errorf("bootstrap kubeconfig: %w", err)
		}
	}
	return result, nil
}

// clientConfig is a configuration of a target with the operator's limits.
func (o *Options) clientConfig(of *rest.Config) *rest.Config {
	config := rest.CopyConfig(of)
	config.QPS = o.QPS
	config.Burst = o.Burst
	config.UserAgent = o.UserAgent
	// The hub's own configuration can contain limits for the manager. A Timeout in particular would end every
	// watch.
	config.RateLimiter, config.Timeout = nil, 0
	// Each warning would be logged, and kept so that it is logged once.
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	return config
}

// Claimant is this installation's identity in claims.
func (o *Options) Claimant(of *Target) install.Claimant {
	return install.Claimant{Installation: o.InstallationUID, Hub: o.HubName, Predecessor: of.Predecessor, Now: o.Now()}
}
