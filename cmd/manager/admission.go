package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/admission/serving"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// trustResync is how often the leader looks at certificates and acknowledgements although nothing changed.
const trustResync = 30 * time.Second

// door renders what members get so that policy holds at their door. The zero value answers that it is not ready yet: the
// controllers that know more are made after the members' provider, which asks.
type door struct {
	url string

	mu        sync.Mutex
	policies  func() (*policy.Set, bool)
	trust     *trust.Leader
	listeners []func()
}

// opens completes the door. certificates is nil without webhooks.
func (d *door) opens(policies func() (*policy.Set, bool), certificates *trust.Leader) {
	d.mu.Lock()
	d.policies, d.trust = policies, certificates
	d.mu.Unlock()
	if certificates != nil {
		certificates.OnChange(d.changed)
	}
}

// OnChange implements member.Admission.
func (d *door) OnChange(listener func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listeners = append(d.listeners, listener)
}

// changed tells that members may have to get something else.
func (d *door) changed() {
	d.mu.Lock()
	listeners := d.listeners
	d.mu.Unlock()
	for _, listener := range listeners {
		listener()
	}
}

var (
	errPoliciesUnread     = errors.New("the VmGroupPolicies of the hub have not been read yet")
	errCertificatesUnread = errors.New("the certificates of the hub's webhooks have not been read yet")
)

// certain reports whether it is known if there are webhooks: after a start, members must not lose theirs for a moment.
func (d *door) certain() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trust == nil || d.trust.Known()
}

// Objects implements member.Admission.
func (d *door) Objects(target member.AdmissionTarget) (member.AdmissionBundle, error) {
	out := member.AdmissionBundle{}
	for _, known := range objects.Known() {
		out.Known = append(out.Known, member.AdmissionObject{GroupVersionKind: known.GroupVersionKind, Name: known.Name})
	}
	if target.Leaving {
		return out, nil
	}
	in, policies := d.input(target)
	if policies == nil {
		return out, errPoliciesUnread
	}
	if !d.certain() {
		return out, errCertificatesUnread
	}
	set, ok := policies()
	if !ok {
		return out, errPoliciesUnread
	}
	limits, err := objects.Compile(set, target.Name)
	if err != nil {
		return out, err
	}
	in.Limits = limits
	bundle, err := objects.Render(in)
	if err != nil {
		return out, err
	}
	out.Objects, out.CABundleHash, out.NoWebhook = bundle.Objects, bundle.CABundleHash, bundle.NoWebhook
	return out, nil
}

// CABundleHash implements member.Admission.
func (d *door) CABundleHash(target member.AdmissionTarget) string {
	in, _ := d.input(target)
	if in.WebhookBase == "" || in.Segment == "" {
		return ""
	}
	return objects.BundleHash(in.CABundle)
}

// input is what a member's objects are rendered from, but for the limits. The function is nil until the door is complete.
func (d *door) input(target member.AdmissionTarget) (objects.Input, func() (*policy.Set, bool)) {
	d.mu.Lock()
	policies, certificates := d.policies, d.trust
	d.mu.Unlock()
	in := objects.Input{
		Member: target.Name, FailurePolicy: target.FailurePolicy,
		Exempt: target.Exempt, ServesMutatingPolicies: target.ServesMutatingPolicies,
	}
	if certificates != nil {
		in.WebhookBase = cmp.Or(target.URL, d.url)
		in.Segment, _ = certificates.Segment(target.Name, target.UID)
		in.CABundle, _ = certificates.Bundle()
	}
	return in, policies
}

// newKeeper returns what serves the webhooks' certificate, or nil without webhooks.
func newKeeper(o options) *serving.Keeper {
	if o.webhookCerts == "" {
		return nil
	}
	return serving.New(serving.Options{
		Dir: o.webhookCerts, Poll: serving.DefaultPoll, Now: time.Now, Log: ctrl.Log.WithName("certificates"),
	})
}

// webhookServer listens for the members' API servers. HTTP/2 is off: what is called a few times a second does not need it,
// and its ways to tie up a server are not worth having.
func webhookServer(o options, keeper *serving.Keeper) webhook.Server {
	opts := webhook.Options{Host: o.webhookHost, Port: o.webhookPort}
	if keeper != nil {
		opts.TLSOpts = append(opts.TLSOpts, func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.NextProtos = []string{"http/1.1"}
			c.GetCertificate = keeper.GetCertificate
		})
	}
	return webhook.NewServer(opts)
}

// certificates keeps the webhooks' certificate and the authorities that members trust, on every replica.
func (op operator) certificates(hub manager.Manager) (*trust.Leader, error) {
	log, keeper := ctrl.Log.WithName("certificates"), op.keeper
	limits := trust.DefaultLimits().Scale(op.shardingScale)
	limits.Lost = op.lostReplica
	leader := trust.NewLeader(trust.Options{
		Namespace: op.namespace, Client: hub.GetClient(), Informers: hub.GetCache(), Leading: op.replica.Leading,
		Offer: keeper.Offer, Replicas: func() []trust.Replica { return servingReplicas(op.replica) }, Deliver: keeper.SetState,
		AdmissionURL: op.admissionURL, Random: rand.Reader, Now: time.Now,
		Limits: limits, Resync: trustResync,
		Events: certificateEvents{hub.GetClient(), hub.GetEventRecorder("vmgroup-operator")}, Log: log,
	})
	publish := func() { op.replica.Publish(trust.BoardKey, keeper.Published()) }
	publish()
	keeper.OnChange(func() {
		publish()
		leader.Changed()
	})
	op.replica.OnLeading(leader.Changed)
	op.replica.OnPeers(leader.Changed)
	if err := metrics.Registry.Register(leader); err != nil {
		return nil, fmt.Errorf("register the metrics of certificates: %w", err)
	}
	return leader, errors.Join(hub.Add(keeper), hub.Add(leader))
}

// servingReplicas reads what each replica serves from the boards.
func servingReplicas(replica *sharding.Replica) []trust.Replica {
	boards := replica.Boards()
	out := make([]trust.Replica, 0, len(boards))
	for _, b := range boards {
		out = append(out, trust.Replica{Process: b.Boot, Serving: trust.ParseServing(b.Board[trust.BoardKey])})
	}
	return out
}

// certificateEvents tells of members that are behind as events of their MemberClusters.
type certificateEvents struct {
	client   client.Client
	recorder events.EventRecorder
}

// MemberBehind implements trust.Events.
func (e certificateEvents) MemberBehind(b trust.Behind) {
	words := "does not know the current certificate authority of the hub's webhooks yet; the certificate is not switched before it does"
	if b.Broken {
		words = "does not trust the certificate of the hub's webhooks: its calls fail, and its admission.failurePolicy decides"
	}
	if !b.Reachable {
		words += ". The member cannot be reached; see condition Ready"
	}
	e.tell(b.Member, words)
}

// LeafSwitched implements trust.Events. That it was switched is in the log.
func (e certificateEvents) LeafSwitched(_ *trust.Leaf, forced []string) {
	for _, member := range forced {
		e.tell(member, "did not learn in time of the authority of the webhooks' next certificate, and the one in use was about to end: "+
			"another is served now, and the member's calls fail until it can be reached")
	}
}

func (e certificateEvents) tell(member, words string) {
	mc := &v1alpha1.MemberCluster{}
	if err := e.client.Get(context.Background(), client.ObjectKey{Name: member}, mc); err != nil {
		return // it was deleted meanwhile
	}
	e.recorder.Eventf(mc, nil, corev1.EventTypeWarning, v1alpha1.ReasonCABundleBehind, "Trust", "MemberCluster %q %s.", member, words)
}
