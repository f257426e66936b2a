// Package settings defines the inputs of a connection to a member: the operator's options, timeouts, and the target.
package settings

import (
	"errors"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/renewal"
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
	// HubName is free text in the claim for users of the member, for example the hub's URL.
	HubName string
	// Local serves the hub itself when a MemberCluster named "local" exists.
	Local bool
	// HubConfig connects to the hub. Required if Local is set; without it a claim on the hub is not released.
	HubConfig *rest.Config

	// QPS and Burst limit the requests per second to one member; 100 and 200 when zero.
	QPS   float32
	Burst int
	// Instance is this replica's name in the events that it writes in members.
	Instance string
	// UserAgent of every request to a member; "vmgroup-operator" when empty.
	UserAgent string
	// Limits of the data that members can send; the defaults of package remote if zero.
	Limits remote.Limits
	// Addresses that members can have; all if zero.
	Addresses remote.Addresses
	// ClusterOptions are applied to each member's cluster last. Tests use them.
	ClusterOptions []cluster.Option

	// Leader reports whether this replica leads: it writes MemberClusters, and claims, equips and leaves members. It is called before each write; nil
	// means that this replica always leads. After the answer has changed, call LeadershipChanged of the provider.
	Leader sharding.Leader

	// Renderer returns the objects that enforce policy at admission in members; nil installs nothing.
	Renderer install.Renderer
	// Fleet gets the state of each member, and has its groups and orphans. Required.
	Fleet *fleet.Fleet
	// Tokens has the tokens that the operator has renewed. It is nil if it renews none.
	Tokens *renewal.Store
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Timings are the defaults where zero.
	Timings Timings
	// SkipNameValidation lets several managers run in one process, as tests do.
	SkipNameValidation bool
}

// WithDefaults fills in omitted options. It fails if a required option is missing.
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
