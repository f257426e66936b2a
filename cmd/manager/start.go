package main

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
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	policycontroller "github.com/codeconnect/vmgroup-operator/internal/controller/policy"
	"github.com/codeconnect/vmgroup-operator/internal/controller/unattended"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup"
	"github.com/codeconnect/vmgroup-operator/internal/events"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/summary"
	"github.com/codeconnect/vmgroup-operator/internal/groupmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotametrics"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/callmetrics"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/share"
	"github.com/codeconnect/vmgroup-operator/internal/witness"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get,resourceNames=kube-system

// start runs the operator until ctx ends. It makes every part from those above it; nothing runs before the last line.
func start(ctx context.Context, o options) error {
	// The hub, and what identifies this installation on it.
	log := logToStderr(o.logLevel)
	hubConfig, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	hubConfig.UserAgent = "vmgroup-operator/" + version
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	installation, err := preflight(ctx, hubConfig, scheme)
	if err != nil {
		return err
	}
	log.Info("Starting", "version", version, "installation", installation, "namespace", o.namespace)

	// This process as one of those that share the groups, and the task limits of the vCenters.
	boot := uuid.NewString()
	replica, err := newReplica(hubConfig, o, boot)
	if err != nil {
		return err
	}
	announceDeath(replica, o, boot)
	shared := share.New(peers{replica}, time.Now)

	// The members, and the manager that runs the controllers of the hub and of all members.
	known := fleet.New(clock.RealClock{}, o.massDeletion(), replica)
	addresses, err := remote.ParseAddresses(o.memberAddresses)
	if err != nil {
		return fmt.Errorf("--member-addresses: %w", err)
	}
	members, err := member.NewProvider(settings.Options{
		Namespace: o.namespace, InstallationUID: installation, HubName: hubConfig.Host,
		Local: o.localMember, HubConfig: hubConfig,
		QPS: float32(o.memberQPS), Burst: o.memberBurst, UserAgent: hubConfig.UserAgent, Limits: o.memberLimits(), Addresses: addresses,
		Instance: o.podName, Leader: replica, Fleet: known,
	})
	if err != nil {
		return fmt.Errorf("prepare the member clusters: %w", err)
	}
	keeper := newKeeper(o) // nil without webhooks
	mgr, err := mcmanager.New(hubConfig, members, managerOptions(o, scheme))
	if err != nil {
		return fmt.Errorf("prepare the manager: %w", err)
	}
	hub := mgr.GetLocalManager()
	core, err := corev1client.NewForConfigAndClient(hub.GetConfig(), hub.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a client for the ledger of quotas and the replicas' Pods: %w", err)
	}
	recorder := events.New(events.Options{
		Client: hub.GetClient(), Instance: o.podName, Now: time.Now, Log: ctrl.Log.WithName("events"), Retry: events.DefaultRetry(),
	})
	memberEvents := events.NewMembers(hub.GetClient(), recorder, time.Now)

	// The vCenters.
	pool := vcenter.NewPool()
	login := &session.Process{Boot: boot, Boots: replica}
	rejections := logins.New(logins.Options{
		Store: &vcenter.LoginMemory{Client: core.Secrets(o.namespace)}, Boot: boot, Boots: replica, Now: time.Now,
	})

	// The groups, their quotas, and the policies about them. What members make this replica write on the hub has one budget.
	hubWrites := writebudget.New(writebudget.Default, time.Now)
	calls, err := callmetrics.New(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of requests: %w", err)
	}
	counts, err := groupmetrics.New(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of groups: %w", err)
	}
	shares, err := quotametrics.New(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the metrics of quotas: %w", err)
	}
	sources := &observe.Sources{
		Fleet: known, Hub: hub.GetClient(), Clusters: mgr, Servers: pool, Installation: installation, Now: time.Now,
	}
	records := admitted.New(admitted.Options{
		Client: core.ConfigMaps(o.namespace), Groups: sources, Leader: replica, Now: time.Now,
	})
	kept := receipts.NewIndex(receipts.IndexOptions{
		Client: core.ConfigMaps(o.namespace), VMs: sources, Leader: replica, Now: time.Now,
	})
	observer := &observe.Observer{Sources: sources, Admitted: records, KnownReceipts: kept}
	ledger := quota.New(quota.Options{
		Counters: shares,
		Store:    &quota.ConfigMaps{Client: core.ConfigMaps(o.namespace)}, Lister: observer,
		Listener: sources, Now: time.Now,
		Leader: replica, Inspector: sources, Budget: ledgerBudget{hubWrites},
	})
	reviewer := &observe.Reviewer{Observer: observer, Quotas: ledger}
	reconciler := &vmgroup.Reconciler{
		Observer: observer, Definitions: members, Shards: replica, Metrics: counts,
		Quotas: ledger, Records: records, ReceiptSums: kept, MemberEvents: memberEvents,
		Receipts: &receipts.ConfigMaps{Client: core.ConfigMaps(o.namespace)}, HubWrites: hubWrites,
	}
	changes := &witness.Witness{
		Fleet: known, Hub: hub.GetClient(), Clusters: mgr, Events: recorder, HubWrites: hubWrites, Metrics: counts,
	}
	vcenters := &vcenter.Reconciler{
		Client: hub.GetClient(), Pool: pool, Groups: vcenterGroups{known, observer}, Leader: replica,
		Dial:   dialer(installation, login, rejections, shared, calls, changes.Of),
		Events: recorder, Namespace: o.namespace, Now: time.Now, Receipts: kept, Members: sources,
	}
	policies := &policycontroller.Reconciler{Client: hub.GetClient(), Evaluator: reviewer, Now: time.Now, Leader: replica}
	deaths := watchDeaths(core.Pods(o.namespace), replica)

	listener := &ringListener{
		known: known, members: members, vcenters: vcenters, policies: policies, shared: shared, deaths: deaths, pool: pool,
	}
	warm := &warmUp{hub: hub, members: members, vcenters: pool, ready: replica.Ready}
	problems := []error{
		registerViews(metrics.Registry, replica, views{vcenters, members, policies, ledger, reconciler}),
		registerFleet(metrics.Registry, known, replica),
		hub.Add(&summary.Writer{Client: hub.GetClient(), Fleet: known, Leader: replica, Clock: clock.RealClock{}}),
		hub.Add(records),
		hub.Add(kept),
		hub.Add(ledger),
		hub.Add(&unattended.Reporter{Fleet: known, Clusters: mgr, Replica: replica, Clock: clock.RealClock{}}),
		hub.Add(deaths),
		hub.Add(recorder),
		hub.Add(&hubStorage{revision: revisionOf(hub.GetAPIReader())}),
		hub.Add(warm),
	}
	asked := probes{
		livePath:  {"alive": healthz.Ping},
		readyPath: {"warm": warm.check, "caches": cachesSynced(hub), "ring": sharesWork(replica)},
	}

	// What members get so that policy holds at their door, and the webhooks where there is a certificate.
	admission := &memberAdmission{url: o.admissionURL, policies: func() (*policy.Set, bool) { return sources.Policies(ctx) }}
	leaving := &leaving{}
	if keeper != nil {
		offered := sharedKeeper{keeper, replica}
		offered.publish()
		certificates := newCertificates(o, hub, memberEvents, offered, members.AdmissionChanged)
		listener.certificates, admission.certificates, leaving.time = certificates, certificates, o.webhookDrain
		servers, err := serveWebhooks(o, hub.GetClient(), keeper, certificates, leaving, reviewer)
		if err != nil {
			return fmt.Errorf("serve the webhooks: %w", err)
		}
		for _, server := range servers {
			problems = append(problems, hub.Add(server))
		}
		problems = append(problems,
			hub.Add(manager.RunnableFunc(func(ctx context.Context) error {
				return keeper.Run(ctx, func() {
					offered.publish()
					certificates.Changed()
				})
			})),
			hub.Add(certificates),
			metrics.Registry.Register(certificates),
		)
		asked[readyPath]["certificate"], asked[readyPath]["leaving"] = keeper.Check, leaving.check
	}

	scraped, err := openMetrics(o, hub.GetConfig(), ctrl.Log.WithName("metrics"))
	if err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	probed, err := asked.open(o.probeAddress, ctrl.Log.WithName("probes"))
	if err != nil {
		return fmt.Errorf("answer probes: %w", err)
	}
	for _, runnable := range append(scraped, probed...) {
		problems = append(problems, hub.Add(runnable))
	}
	problems = append(problems,
		member.SetupWithManager(mgr, members, admission, recorder),
		vcenters.SetupWithManager(hub),
		reconciler.SetupWithManager(mgr, vmgroup.Options{Workers: o.workers}),
		policies.SetupWithManager(hub),
	)
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("prepare the operator: %w", err)
	}
	return runSharded(ctx, replica, listener, shared, leaving.leave, mgr.Start)
}

// vcenterGroups are those that use the vCenters.
type vcenterGroups struct {
	*fleet.Fleet
	users *observe.Observer
}

// CountVCenter implements vcenter.Groups.
func (g vcenterGroups) CountVCenter(ctx context.Context, name string, grants []v1alpha1.Grant) int {
	return g.users.CountVCenter(ctx, name, grants)
}
