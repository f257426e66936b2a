// Package settings has what a connection to a member is made of: the operator's options, limits of time, and the target.
package settings

import (
	"errors"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// Options are the same for all members.
type Options struct {
	// Namespace of the operator on the hub; kubeconfig Secrets are read there only. Required.
	Namespace string
	// InstallationUID identifies this installation in the claim on a member. Required; it must survive
	// restarts of the operator and differ between hubs.
	InstallationUID string
	// HubName is free text that the claim shows to a person on the member, for example the hub's URL.
	HubName string
	// Local serves the hub itself when a MemberCluster named "local" exists.
	Local bool
	// HubConfig reaches the hub. Required when Local is set; without it a claim on the hub is not released.
	HubConfig *rest.Config

	// QPS and Burst limit the requests per second to one member; 100 and 200 when zero.
	QPS   float32
	Burst int
	// Instance is this replica's name in the events that it writes in members.
	Instance string
	// UserAgent of every request to a member; "vmgroup-operator" when empty.
	UserAgent string
	// Limits of what members may send; the defaults of package remote when zero.
	Limits remote.Limits
	// Addresses to which members may lead; all when zero.
	Addresses remote.Addresses
	// ClusterOptions are applied to each member's cluster last. Tests have them.
	ClusterOptions []cluster.Option

	// Leader says whether this replica leads: it writes MemberClusters, and claims, equips and leaves members. It is asked before each write; nil means
	// that this replica always leads. Call LeadershipChanged of the provider when the answer changed.
	Leader sharding.Leader

	// Renderer of what members get so that policy holds at their door; nil installs nothing.
	Renderer install.Renderer
	// Fleet gets what is known of each member, and knows its groups and orphans. Required.
	Fleet *fleet.Fleet
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Timings are the defaults where zero.
	Timings Timings
	// SkipNameValidation lets several managers run in one process, as tests do.
	SkipNameValidation bool
}

// WithDefaults fills in what is left out. It fails when a required option is missing.
func (o Options) WithDefaults() (Options, error) {
	switch {
	case o.Namespace == "":
		return o, errors.New("settings.Options.Namespace is empty: kubeconfig Secrets are read from the operator's namespace only")
	case o.InstallationUID == "":
		return o, errors.New("settings.Options.InstallationUID is empty: members are claimed under it")
	case o.Fleet == nil:
		return o, errors.New("settings.Options.Fleet is nil: it gets what is known of members")
	case o.Local && o.HubConfig == nil:
		return o, errors.New("settings.Options.HubConfig is nil though Local is set")
	}
	if o.QPS == 0 {
		o.QPS = 100
	}
	if o.Burst == 0 {
		o.Burst = 200
	}
	if o.Limits == (remote.Limits{}) {
		o.Limits = remote.DefaultLimits()
	}
	if o.UserAgent == "" {
		o.UserAgent = "vmgroup-operator"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Timings = o.Timings.WithDefaults()
	return o, nil
}
