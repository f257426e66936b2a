package webhook

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
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

// What the webhooks of the hub's own kinds may take at a time. All their callers are one: each gets half of it.
const (
	openRequests = 32
	openMemory   = 16 << 20
)

// Options say what the webhooks know and how much they take at a time. Zero values mean the defaults.
type Options struct {
	// Knowledge answers about groups. Required.
	Knowledge Knowledge
	// Segment returns the part of a member's path that nobody can guess, or false for a member that has none. It answers
	// from memory. Required.
	Segment func(ctx context.Context, member string) (string, bool)
	// Hub reads VCenters, VmGroupPolicies and the Secrets of Namespace from memory. Required.
	Hub client.Reader
	// Namespace is the operator's own.
	Namespace string
	// CheckKubeconfig says why a kubeconfig would not be used. Its error quotes nothing of it. Without it none is checked.
	CheckKubeconfig func(content []byte) error
	// PolicyImpact counts the groups that a policy would match and those of them that would break it; false when that is
	// not known. Without it nothing is said.
	PolicyImpact func(ctx context.Context, changed *v1alpha1.VmGroupPolicy) (matched, broken int, known bool)
	Log          logr.Logger
	// Registerer of the metrics; default controller-runtime's registry.
	Registerer prometheus.Registerer
	// Requests of members that are answered at a time, default 256. Memory is what their bodies may take together, in bytes,
	// default 32 MiB. One member gets half of it at most. What is above is refused at once with status 503.
	Requests int
	Memory   int64
	// BodyTimeout is how long a caller may take to send its request, default 5 s.
	BodyTimeout time.Duration
	// MutateTimeout and ValidateTimeout bound a handler, default 1.5 s and 2.5 s: API servers wait 2 s and 3 s.
	MutateTimeout, ValidateTimeout time.Duration
	// NewsPatience is how long a call waits for a member or namespace that is not known yet, default 1 s.
	NewsPatience time.Duration
}

// Server is where handlers are registered: controller-runtime's webhook server. Patterns are those of http.ServeMux.
type Server interface {
	Register(pattern string, handler http.Handler)
}

// Register adds the webhooks to a server, before it starts.
func Register(server Server, o Options) error {
	if o.Knowledge == nil || o.Segment == nil || o.Hub == nil {
		return errors.New("webhooks need a Knowledge, segments and a reader of the hub")
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), autoscalingv1.AddToScheme(scheme)); err != nil {
		return err
	}
	var registerer prometheus.Registerer = ctrlmetrics.Registry
	if o.Registerer != nil {
		registerer = o.Registerer
	}
	f := &front{
		segment: o.Segment, room: newShares(int64(cmp.Or(o.Requests, 256))), memory: newShares(cmp.Or(o.Memory, 32<<20)),
		metrics: newMetrics(registerer), log: o.Log, bodyTimeout: cmp.Or(o.BodyTimeout, 5*time.Second),
	}
	mutate, validate := cmp.Or(o.MutateTimeout, 1500*time.Millisecond), cmp.Or(o.ValidateTimeout, 2500*time.Millisecond)
	decoder := admission.NewDecoder(scheme)
	knowledge := patient{Knowledge: o.Knowledge, patience: cmp.Or(o.NewsPatience, time.Second)}
	groups := reviewer{knowledge: knowledge}
	server.Register("POST "+MutatePath("{member}", "{segment}"), &endpoint{
		front: f, name: "mutate", timeout: mutate,
		handler: defaulter{knowledge: knowledge, decoder: decoder},
	})
	server.Register("POST "+ValidatePath("{member}", "{segment}"), &endpoint{
		front: f, name: "validate", timeout: validate,
		handler: byResource{
			groups: admission.WithValidator(scheme, groupValidator{groups}).Handler,
			scale:  admission.WithValidator(scheme, scaleValidator{groups}).Handler,
		},
	})
	// Everybody who reaches the port can call these. That must not take anything from the members.
	open := *f
	open.room, open.memory = newShares(openRequests), newShares(openMemory)
	h := hub{reader: o.Hub, namespace: o.Namespace}
	for _, own := range []struct {
		path, name string
		handler    admission.Handler
	}{
		{VCenterPath, "vcenter", admission.WithValidator(scheme, vcenterValidator{h}).Handler},
		{MemberClusterPath, "membercluster", admission.WithValidator(scheme, memberValidator{h, o.CheckKubeconfig}).Handler},
		{VmGroupPolicyPath, "vmgrouppolicy", admission.WithValidator(scheme, policyValidator{h, o.PolicyImpact}).Handler},
	} {
		server.Register("POST "+own.path, &endpoint{front: &open, name: own.name, timeout: validate, handler: own.handler, open: true})
	}
	return nil
}
