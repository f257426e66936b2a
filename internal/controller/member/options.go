package member

import (
	"errors"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// Options configure a [Provider] and the MemberCluster controller over it.
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
	// clusterOptions are applied to each member's cluster last. Tests have them.
	clusterOptions []cluster.Option

	// Leader says whether this replica leads: it writes MemberClusters, and claims, equips and leaves members. It is asked before each write; nil means
	// that this replica always leads. Call [Provider.LeadershipChanged] when the answer changed.
	Leader sharding.Leader

	// Fleet gets what is known of each member, and knows its groups and orphans. Required.
	Fleet *fleet.Fleet
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Timings are the defaults where zero.
	Timings Timings
	// SkipNameValidation lets several managers run in one process, as tests do.
	SkipNameValidation bool
}

// Timings bound everything that waits for a member. Zero values mean the defaults.
type Timings struct {
	// Dial bounds a TCP connect, and a TLS handshake after it (5 s).
	Dial time.Duration
	// ResponseHeader bounds the wait for an answer to a request that was sent (30 s).
	ResponseHeader time.Duration
	// Answer bounds an answer to its last byte, if it is no watch, and an event of a watch (60 s).
	Answer time.Duration
	// Request bounds one request while connecting (10 s).
	Request time.Duration
	// Establish bounds the wait for an installed CRD to be served (30 s).
	Establish time.Duration
	// Sync bounds the first fill of the caches (60 s).
	Sync time.Duration
	// Engage bounds how long the manager's controllers may take to begin their watches (60 s).
	Engage time.Duration
	// BackoffMin and BackoffMax bound the pause between attempts to connect (1 s, 60 s).
	BackoffMin, BackoffMax time.Duration
	// Await bounds the pause between looks at a member that the leader has not claimed or equipped yet (5 s).
	Await time.Duration
	// Knock is the longest pause between attempts to reach a member that does not answer at all, in all but the first seconds of being
	// away: one attempt is one small request (4 s).
	Knock time.Duration
	// HealthInterval is the pause between health checks of an engaged member (8 s). One that does not answer is checked every second.
	HealthInterval time.Duration
	// HealthTimeout bounds one health check (4 s). With an interval, a failed check, a second of pause and another failed one, a member that
	// falls silent is known to be after 17 s at the latest.
	HealthTimeout time.Duration
	// Recheck is the pause before a state that somebody has to change is looked at again, such as a foreign
	// claim (30 s).
	Recheck time.Duration
	// Revision is the pause between looks at whether the storage of an engaged member went back to a backup (1 min).
	Revision time.Duration
	// Audit is the pause between checks of an engaged member's version and CRD (5 min).
	Audit time.Duration
	// Inspect is the pause between looks at whether somebody changed or deleted an admission object (30 s). With a
	// request for each object it is also the time until the change is undone.
	Inspect time.Duration
	// Reapply is the pause before the admission objects are applied again though nothing seems to have changed (5 min).
	Reapply time.Duration
	// SchemaLag is how old the VmGroup CRD must be before MutatingAdmissionPolicies are put before it: API servers refuse
	// what they match until they have read the schema of a new CRD, which they look for every 5 s (12 s).
	SchemaLag time.Duration
	// Leave bounds the attempts to clean up a member that is removed (30 s).
	Leave time.Duration
	// Settle is how long a member that is left must stay without our finalizers before its claim is released: another
	// replica that does not know yet would put them back (2 s).
	Settle time.Duration
	// Counts is the least pause between two writes of a member's counts (10 s).
	Counts time.Duration
}

func (t Timings) withDefaults() Timings {
	for _, item := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&t.Dial, 5 * time.Second},
		{&t.SchemaLag, 12 * time.Second},
		{&t.ResponseHeader, 30 * time.Second},
		{&t.Answer, time.Minute},
		{&t.Request, 10 * time.Second},
		{&t.Establish, 30 * time.Second},
		{&t.Sync, time.Minute},
		{&t.Engage, time.Minute},
		{&t.BackoffMin, time.Second},
		{&t.BackoffMax, time.Minute},
		{&t.Await, 5 * time.Second},
		{&t.Knock, 4 * time.Second},
		{&t.HealthInterval, 8 * time.Second},
		{&t.HealthTimeout, 4 * time.Second},
		{&t.Recheck, 30 * time.Second},
		{&t.Revision, time.Minute},
		{&t.Audit, 5 * time.Minute},
		{&t.Inspect, 30 * time.Second},
		{&t.Reapply, 5 * time.Minute},
		{&t.Leave, 30 * time.Second},
		{&t.Settle, 2 * time.Second},
		{&t.Counts, 10 * time.Second},
	} {
		if *item.value <= 0 {
			*item.value = item.fallback
		}
	}
	return t
}

func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Namespace == "":
		return o, errors.New("member.Options.Namespace is empty: kubeconfig Secrets are read from the operator's namespace only")
	case o.InstallationUID == "":
		return o, errors.New("member.Options.InstallationUID is empty: members are claimed under it")
	case o.Fleet == nil:
		return o, errors.New("member.Options.Fleet is nil: it gets what is known of members")
	case o.Local && o.HubConfig == nil:
		return o, errors.New("member.Options.HubConfig is nil though Local is set")
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
	o.Timings = o.Timings.withDefaults()
	return o, nil
}

// NewScheme returns the scheme of a member's clients: the few kinds that the operator reads and writes there.
func NewScheme() *runtime.Scheme {
	return remote.SchemeOf(map[schema.GroupVersion][]runtime.Object{
		v1alpha1.GroupVersion:       {&v1alpha1.VmGroup{}, &v1alpha1.VmGroupList{}, &v1alpha1.VmGroupLimits{}, &v1alpha1.VmGroupLimitsList{}},
		corev1.SchemeGroupVersion:   {&corev1.Namespace{}, &corev1.NamespaceList{}, &corev1.Secret{}, &corev1.ConfigMap{}},
		eventsv1.SchemeGroupVersion: {&eventsv1.Event{}, &eventsv1.EventList{}},
	})
}

// cachedObjects are synced before a member is engaged. Every kind that a multicluster controller watches must be among them: multicluster-runtime
// holds a lock while it starts a watch, and a watch that has to wait for a dead member would hold up all others.
func cachedObjects() []client.Object {
	return []client.Object{&v1alpha1.VmGroup{}, namespaceMetadata()}
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return metadata
}

// remote are those that a member's clients keep to.
func (t Timings) remote() remote.Timeouts {
	return remote.Timeouts{
		Dial: t.Dial, ResponseHeader: t.ResponseHeader, Answer: t.Answer, Request: t.Request, PingInterval: t.HealthInterval, Ping: t.HealthTimeout,
	}
}

// retry is the pause between attempts: it doubles, and never exceeds BackoffMax.
func (t Timings) retry() wait.Backoff {
	return wait.Backoff{Duration: t.BackoffMin / 2, Factor: 2, Jitter: 2, Cap: t.BackoffMax / 3, Steps: math.MaxInt}
}

// spread draws from half to three halves of d, so that members that went away together do not come back together.
func spread(d time.Duration) time.Duration { return wait.Jitter(d/2, 2) }
