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

// MutatePath is where a member's API server sends what is to be filled in, below the address of the hub.
func MutatePath(member, segment string) string {
	return "/clusters/" + member + "/" + segment + "/mutate"
}

// ValidatePath is where a member's API server sends what is to be reviewed, below the address of the hub.
func ValidatePath(member, segment string) string {
	return "/clusters/" + member + "/" + segment + "/validate"
}

// What the webhooks of the hub's own kinds may take at a time, as requests and as bytes of memory. All their callers are one, and one caller
// gets half: the hub's API server writes a few objects a day. Half of the memory is one review that is as large and as heavy as any may be.
const (
	hubRequests = 16
	hubMemory   = 64 << 20
)

// Segments are the secret parts of the paths by which members call. *trust.Rotator implements it.
type Segments interface {
	// Knows reports whether a member may call by this segment. It answers from memory, and the time that it takes tells nothing of the
	// answer, nor of whether there is such a member.
	Knows(member, segment string) bool
}

// Impact is what policies would do to groups that exist.
type Impact interface {
	// PolicyImpact counts the groups that a policy would match, and those of them that would break it.
	PolicyImpact(ctx context.Context, changed *v1alpha1.VmGroupPolicy) (matched, broken int, err error)
}

// Options say what the webhooks know and how much they take at a time. Zero values mean the defaults.
type Options struct {
	// Knowledge answers about groups. Required.
	Knowledge Knowledge
	// Segments are those of the paths by which members call. Required.
	Segments Segments
	// Hub reads VmGroupPolicies from memory. Required.
	Hub client.Reader
	// Impact warns of groups that a policy would refuse. Without it nothing is said.
	Impact Impact
	Log    logr.Logger
	// Registerer of the metrics; default controller-runtime's registry.
	Registerer prometheus.Registerer
	// Requests of members that are answered at a time, default 256. Memory is what their bodies, and what these become,
	// may take together, in bytes, default 64 MiB. No member gets more of it than it leaves free. What is above is refused at once with status 503.
	Requests int
	Memory   int64
	// BodyTimeout is how long a caller may take to send its request, default 5 s.
	BodyTimeout time.Duration
	// Timeout bounds a handler for members, default 800 ms: their API servers wait for 1 s. HubTimeout is that of the hub's own kinds,
	// default 2.5 s: its API server waits for 3 s.
	Timeout, HubTimeout time.Duration
	// NewsPatience is how long a call waits for a member or namespace that is not known yet, default 500 ms.
	NewsPatience time.Duration
	// NewUID draws a UID for a group that the hub does not know, so that the one in a request stands for no other group. Default
	// uuid.NewString.
	NewUID func() string
}

// Doors are the handlers of two ports.
type Doors struct {
	// Members is for the port that members reach.
	Members http.Handler
	// Hub is for the one that only the hub's API server is to reach. It asks for no credential, since an API server shows none.
	Hub http.Handler
}

// New makes the handlers. It registers metrics, so it is called once for a Registerer.
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
	// What the hub asks must not take anything from the members.
	forHub := *forMembers
	forHub.room, forHub.memory, forHub.turns = newShares(hubRequests), newShares(hubMemory), &turns{}
	return Doors{Members: newMembers(o, forMembers), Hub: newHubKinds(o, &forHub)}, nil
}

// only is a scheme with one kind, whose decoder refuses others. The kind to decode is what an object says it is: it may be another than that of its path, and
// cost what the handler of that other one looks for first.
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
	groups := reviewer{knowledge: knowledge}
	group, scale := only(v1alpha1.GroupVersion, &v1alpha1.VmGroup{}), only(autoscalingv1.SchemeGroupVersion, &autoscalingv1.Scale{})
	timeout := cmp.Or(o.Timeout, 800*time.Millisecond)
	return &members{front: f, segments: o.Segments, webhooks: map[string]*endpoint{
		"mutate": {
			front: f, name: "mutate", timeout: timeout, handler: defaulter{knowledge: knowledge, decoder: admission.NewDecoder(group)},
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
