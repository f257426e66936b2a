package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/trust"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	policycontroller "github.com/codeconnect/vmgroup-operator/internal/controller/policy"
	"github.com/codeconnect/vmgroup-operator/internal/controller/unattended"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup"
	editrecorder "github.com/codeconnect/vmgroup-operator/internal/edits/recorder"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/summary"
	"github.com/codeconnect/vmgroup-operator/internal/groupmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/offers"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/server"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/callmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/share"
	"github.com/codeconnect/vmgroup-operator/internal/witness"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get,resourceNames=kube-system

// Operator is one replica, which is wired but does not run yet.
type Operator struct {
	replica  *sharding.Replica
	listener *ringListener
	shared   *share.Coordinator
	leaving  *server.Leaving
	manager  mcmanager.Manager
}

// Wire creates all parts of the operator, each from earlier ones, and opens its ports. The hub must be reachable. Nothing runs before
// Run.
func Wire(ctx context.Context, o Options) (*Operator, error) {
	// The hub, and the ID of this installation on it.
	hubConfig, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the hub's API server: %w", err)
	}
	hubConfig.UserAgent = o.userAgent()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	installation, err := preflight(ctx, hubConfig, scheme)
	if err != nil {
		return nil, err
	}
	ctrl.Log.Info("Starting", "version", o.Version, "installation", installation, "namespace", o.Namespace)

	// This process as one of those that share the groups, and the task limits of the vCenters.
	boot := uuid.NewString()
	replica, err := newReplica(hubConfig, o, boot)
	if err != nil {
		return nil, err
	}
	announceDeath(replica, o, boot)
	shared := share.New(peers{replica}, time.Now)

	// The members, and the manager that runs the controllers of the hub and of all members.
	known := fleet.New(clock.RealClock{}, o.massDeletion(), replica)
	addresses, err := remote.ParseAddresses(o.MemberAddresses)
	if err != nil {
		return nil, fmt.Errorf("--member-addresses: %w", err)
	}
	members, err := link.NewProvider(settings.Options{
		Namespace: o.Namespace, InstallationUID: installation, HubName: hubConfig.Host,
		Local: o.LocalMember, HubConfig: hubConfig,
		QPS: float32(o.MemberQPS), Burst: o.MemberBurst, UserAgent: hubConfig.UserAgent, Limits: o.memberLimits(), Addresses: addresses,
		Instance: o.PodName, Leader: replica, Fleet: known,
	})
	if err != nil {
		return nil, fmt.Errorf("prepare the member clusters: %w", err)
	}
	keeper := newKeeper(o) // nil without webhooks
	mgr, err := mcmanager.New(hubConfig, members, managerOptions(o, scheme))
	if err != nil {
		return nil, fmt.Errorf("prepare the manager: %w", err)
	}
	hub := mgr.GetLocalManager()
	core, err := corev1client.NewForConfigAndClient(hub.GetConfig(), hub.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client for the ledger of quotas and the replicas' Pods: %w", err)
	}
	recorder := events.New(events.Options{
		Client: hub.GetClient(), Instance: o.PodName, Now: time.Now, Log: ctrl.Log.WithName("events"), Retry: events.DefaultRetry(),
	})
	memberEvents := events.NewMembers(hub.GetClient(), recorder, time.Now)

	// The vCenters.
	pool := vcenter.NewPool()
	login := &session.Process{Boot: boot, Boots: replica}
	rejections := logins.New(logins.Options{
		Store: &vcenter.LoginMemory{Client: core.Secrets(o.Namespace)}, Boot: boot, Boots: replica, Now: time.Now,
	})

	// The groups, their quotas, and the policies about them. One budget limits the writes on the hub that members cause.
	hubWrites := writebudget.New(writebudget.Default, time.Now)
	calls, err := callmetrics.New(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of requests: %w", err)
	}
	counts, err := groupmetrics.New(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of groups: %w", err)
	}
	shares, err := quotametrics.New(metrics.Registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics of quotas: %w", err)
	}
	sources := &observe.Sources{
		Fleet: known, Hub: hub.GetClient(), Clusters: mgr, Servers: pool, Installation: installation, Now: time.Now,
	}
	records := admitted.New(admitted.Options{
		Client: core.ConfigMaps(o.Namespace), Groups: sources, Leader: replica, Now: time.Now,
	})
	kept := receipts.NewIndex(receipts.IndexOptions{
		Client: core.ConfigMaps(o.Namespace), VMs: sources, Leader: replica, Now: time.Now,
	})
	observer := &observe.Observer{Sources: sources, Admitted: records, KnownReceipts: kept}
	ledger := quota.New(quota.Options{
		Counters: shares,
		Store:    &quota.ConfigMaps{Client: core.ConfigMaps(o.Namespace)}, Lister: observer,
		Listener: sources, Now: time.Now,
		Leader: replica, Inspector: sources, Budget: ledgerBudget{hubWrites},
	})
	reviewer := &observe.Reviewer{Observer: observer, Quotas: ledger}
	reconciler := &vmgroup.Reconciler{
		Observer: observer, Definitions: members, Shards: replica, Metrics: counts,
		Quotas: ledger, Records: records, ReceiptSums: kept, MemberEvents: memberEvents,
		Receipts: &receipts.ConfigMaps{Client: core.ConfigMaps(o.Namespace)}, HubWrites: hubWrites,
	}
	changes := &witness.Witness{
		Fleet: known, Hub: hub.GetClient(), Clusters: mgr, Events: recorder, HubWrites: hubWrites, Metrics: counts,
	}
	vcenters := &vcenter.Reconciler{
		Client: hub.GetClient(), Pool: pool, Groups: vcenterGroups{known, observer}, Leader: replica,
		Dial:   dialer(o.userAgent(), installation, login, rejections, shared, calls, changes.Of),
		Events: recorder, Namespace: o.Namespace, Now: time.Now, Receipts: kept, Members: sources,
	}
	policies := &policycontroller.Reconciler{Client: hub.GetClient(), Evaluator: reviewer, Now: time.Now, Leader: replica}
	deaths := watchDeaths(core.Pods(o.Namespace), replica)

	joined := member.New(hub.GetClient(), hub.GetAPIReader(), recorder, members)
	warm := &warmUp{hub: hub, members: members, vcenters: pool, ready: replica.Ready}
	problems := []error{
		registerViews(metrics.Registry, replica, views{vcenters, joined, policies, ledger, reconciler}),
		registerFleet(metrics.Registry, o.Version, known, replica),
		hub.Add(&summary.Writer{Client: hub.GetClient(), Fleet: known, Leader: replica, Clock: clock.RealClock{}}),
		hub.Add(records),
		hub.Add(kept),
		hub.Add(ledger),
		hub.Add(&unattended.Reporter{Fleet: known, Clusters: mgr, Replica: replica, Clock: clock.RealClock{}}),
		hub.Add(deaths),
		hub.Add(recorder),
		hub.Add(&hubStorage{revision: revisionOf(hub.GetAPIReader())}),
		hub.Add(series{hub.GetClient()}),
		hub.Add(warm),
	}
	asked := server.Probes{
		server.LivePath:  {"alive": healthz.Ping},
		server.ReadyPath: {"warm": warm.check, "caches": cachesSynced(hub), "ring": sharesWork(replica)},
	}

	// The webhooks, if there is a certificate.
	leaving := &server.Leaving{}
	var certificates *trust.Rotator // nil without webhooks
	if keeper != nil {
		leaving.Time = o.WebhookDrain
		offered := sharedKeeper{keeper, replica}
		offered.publish()
		certificates = newCertificates(o, hub, memberEvents, offered, members.AdmissionChanged)
		edited := editrecorder.New(editrecorder.Options{
			Clusters: mgr, Clock: clock.RealClock{}, Log: ctrl.Log.WithName("edits"), Interval: editrecorder.Interval, Settle: editrecorder.Settle,
		})
		webhooks, err := serveWebhooks(o.Webhooks, hub.GetClient(), keeper, certificates, leaving, reviewer, edited,
			&offers.Offers{Hub: hub.GetClient(), Servers: observer.Servers, Policies: sources, Quotas: ledger})
		if err != nil {
			return nil, fmt.Errorf("serve the webhooks: %w", err)
		}
		for _, webhook := range webhooks {
			problems = append(problems, hub.Add(webhook))
		}
		problems = append(problems,
			hub.Add(manager.RunnableFunc(func(ctx context.Context) error {
				return keeper.Run(ctx, func() {
					offered.publish()
					certificates.Changed()
				})
			})),
			hub.Add(certificates),
			hub.Add(edited),
			metrics.Registry.Register(certificates),
		)
		asked[server.ReadyPath]["certificate"], asked[server.ReadyPath]["leaving"] = keeper.Check, leaving.Check
	}

	// The objects that enforce policies at admission in members.
	admission := &memberAdmission{
		url: o.AdmissionURL, policies: func() (*policy.Set, bool) { return sources.Policies(ctx) }, certificates: certificates,
	}
	members.Render(admission)
	listener := &ringListener{
		known: known, members: members, vcenters: vcenters, policies: policies, shared: shared, deaths: deaths, pool: pool, certificates: certificates,
	}

	scraped, err := o.Metrics.Open(hub.GetConfig(), ctrl.Log.WithName("metrics"))
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	probed, err := asked.Open(o.ProbeAddress, ctrl.Log.WithName("probes"))
	if err != nil {
		return nil, fmt.Errorf("answer probes: %w", err)
	}
	for _, runnable := range append(scraped, probed...) {
		problems = append(problems, hub.Add(runnable))
	}
	problems = append(problems,
		joined.SetupWithManager(hub),
		vcenters.SetupWithManager(hub),
		reconciler.SetupWithManager(mgr, vmgroup.Options{Workers: o.Workers}),
		policies.SetupWithManager(hub),
	)
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("prepare the operator: %w", err)
	}
	return &Operator{replica: replica, listener: listener, shared: shared, leaving: leaving, manager: mgr}, nil
}

type vcenterGroups struct {
	*fleet.Fleet
	users *observe.Observer
}

// CountActed implements vcenter.Groups.
func (g vcenterGroups) CountActed(name string) int { return g.users.CountActed(name) }

// CountVCenter implements vcenter.Groups.
func (g vcenterGroups) CountVCenter(ctx context.Context, name string, grants []v1alpha1.Grant) int {
	return g.users.CountVCenter(ctx, name, grants)
}
