package webhook

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/seldom"
)

// Paths of the hub's own kinds, as controller-runtime's builder would name them.
const (
	VCenterPath       = "/validate-vm-codeconnect-vmworld-com-v1alpha1-vcenter"
	MemberClusterPath = "/validate-vm-codeconnect-vmworld-com-v1alpha1-membercluster"
	VmGroupPolicyPath = "/validate-vm-codeconnect-vmworld-com-v1alpha1-vmgrouppolicy"
)

// MutatePath is the path, on the hub, to which a member's API server sends objects for defaults.
func MutatePath(member, segment string) string {
	return "/clusters/" + member + "/" + segment + "/mutate"
}

// ValidatePath is the path, on the hub, to which a member's API server sends objects for review.
func ValidatePath(member, segment string) string {
	return "/clusters/" + member + "/" + segment + "/validate"
}

// Limits of the webhooks of the hub's own kinds, in concurrent requests and in bytes of memory. All their callers count as one, and one caller gets half: the
// hub's API server writes a few objects a day. Half of the memory holds one review of the largest size and weight.
const (
	hubRequests = 16
	hubMemory   = 64 << 20
)

// Segments are the secret parts of the paths that members call. *trust.Rotator implements it.
type Segments interface {
	// Knows reports whether a member can call with this segment. It answers from memory. Its duration reveals neither the answer nor whether the member
	// exists.
	Knows(member, segment string) bool
}

// Impact computes the effect of policies on existing groups.
type Impact interface {
	// PolicyImpact counts the groups that a policy would match, and those of them that would violate it.
	PolicyImpact(ctx context.Context, changed *v1alpha1.VmGroupPolicy) (matched, broken int, err error)
}

// Options configure the webhooks and their limits. Zero values mean the defaults.
type Options struct {
	// Knowledge answers about groups. Required.
	Knowledge Knowledge
	// Segments are those of the paths that members call. Required.
	Segments Segments
	// Hub reads VmGroupPolicies from memory. Required.
	Hub client.Reader
	// Impact warns about groups that a policy would refuse. Without it, there is no such warning.
	Impact Impact
	// Edits records who changed groups. Without it, changes are not recorded.
	Edits Edits
	// Offers answers inquiries about a namespace. Without it, they are handled like other requests.
	Offers Offers
	Log    logr.Logger
	// Registerer of the metrics; default controller-runtime's registry.
	Registerer prometheus.Registerer
	// Requests is how many requests of members are answered at a time, default 256. Memory limits the memory of their bodies, and of the decoded bodies,
	// together, in bytes, default 64 MiB. Each member gets at most as much as it leaves free. Requests above the limits are refused at once with status 503.
	Requests int
	Memory   int64
	// BodyTimeout is how long a caller can take to send its request, default 5 s.
	BodyTimeout time.Duration
	// Timeout limits a handler for members, default 800 ms: their API servers wait for 1 s. HubTimeout is that of the hub's own kinds, default 2.5 s: its API
	// server waits for 3 s.
	Timeout, HubTimeout time.Duration
	// NewsPatience is how long a call waits for a member or namespace that is not known yet, default 500 ms.
	NewsPatience time.Duration
	// NewUID generates a UID for a group that the hub does not know, so that the UID in a request cannot refer to another group. Default uuid.NewString.
	NewUID func() string
}

// Doors are the handlers of two ports.
type Doors struct {
	// Members is for the port that members reach.
	Members http.Handler
	// Hub is for the port that only the hub's API server must reach. It does not authenticate requests, since an API server sends no credential.
	Hub http.Handler
}

// New creates the handlers. It registers metrics, so call it once for a Registerer.
func New(o Options) (Doors, error) {
	if o.Knowledge == nil || o.Segments == nil || o.Hub == nil {
		return Doors{}, errors.New("webhooks need a Knowledge, segments and a reader of the hub")
	}
	var registerer prometheus.Registerer = ctrlmetrics.Registry
	if o.Registerer != nil {
		registerer = o.Registerer
	}
	forMembers := &front{
		room: newShares(int64(cmp.Or(o.Requests, 256))), memory: newShares(cmp.Or(o.Memory, 64<<20)), turns: &turns{},
		metrics: newMetrics(registerer), log: o.Log, failures: &seldom.Told[failure]{}, bodyTimeout: cmp.Or(o.BodyTimeout, 5*time.Second),
	}
	// Requests of the hub must not use the room or memory of the members.
	forHub := *forMembers
	forHub.room, forHub.memory, forHub.turns = newShares(hubRequests), newShares(hubMemory), &turns{}
	return Doors{Members: newMembers(o, forMembers), Hub: newHubKinds(o, &forHub)}, nil
}

// only returns a scheme with one kind, whose decoder refuses others. The kind to decode comes from the object, not from the path. An object of another kind
// could avoid the checks of that kind's handler, and their limits.
func only(of schema.GroupVersion, object runtime.Object) *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(of, object)
	return scheme
}

func newMembers(o Options, f *front) http.Handler {
	knowledge := patient{Knowledge: o.Knowledge, patience: cmp.Or(o.NewsPatience, 500*time.Millisecond)}
	newUID := o.NewUID
	if newUID == nil {
		newUID = uuid.NewString
	}
	groups := reviewer{knowledge: knowledge, edits: o.Edits}
	group, scale := only(v1alpha1.GroupVersion, &v1alpha1.VmGroup{}), only(autoscalingv1.SchemeGroupVersion, &autoscalingv1.Scale{})
	timeout := cmp.Or(o.Timeout, 800*time.Millisecond)
	return &members{front: f, segments: o.Segments, webhooks: map[string]*endpoint{
		"mutate": {
			front: f, name: "mutate", timeout: timeout, handler: defaulter{knowledge: knowledge, offers: o.Offers, decoder: admission.NewDecoder(group)},
		},
		"validate": {
			front: f, name: "validate", timeout: timeout, handler: byResource{
				groups: admission.WithValidator(group, groupValidator{groups, newUID}).Handler,
				scale:  admission.WithValidator(scale, scaleValidator{groups}).Handler,
			},
		},
	}}
}

func newHubKinds(o Options, f *front) http.Handler {
	timeout := cmp.Or(o.HubTimeout, 2500*time.Millisecond)
	webhooks, is := map[string]*endpoint{}, v1alpha1.GroupVersion
	for _, own := range []struct {
		path, name string
		handler    admission.Handler
	}{
		{VCenterPath, "vcenter", admission.WithValidator(only(is, &v1alpha1.VCenter{}), vcenterValidator{}).Handler},
		{MemberClusterPath, "membercluster", admission.WithValidator(only(is, &v1alpha1.MemberCluster{}), memberValidator{}).Handler},
		{VmGroupPolicyPath, "vmgrouppolicy", admission.WithValidator(only(is, &v1alpha1.VmGroupPolicy{}), newPolicyValidator(o.Hub, o.Impact)).Handler},
	} {
		webhooks[own.path] = &endpoint{front: f, name: own.name, timeout: timeout, handler: own.handler}
	}
	return &hubKinds{front: f, webhooks: webhooks}
}
