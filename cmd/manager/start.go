package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/serving"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member"
	"github.com/codeconnect/vmgroup-operator/internal/controller/policy"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/session"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/share"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get,resourceNames=kube-system

// start runs the operator until ctx ends.
func start(ctx context.Context, o options) error {
	log := zap.New(zap.UseFlagOptions(&o.zap))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	hub, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("find the hub's API server: %w", err)
	}
	hub.UserAgent = "vmgroup-operator/" + version
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	installation, err := preflight(ctx, hub, scheme)
	if err != nil {
		return err
	}
	log.Info("Starting", "version", version, "installation", installation, "namespace", o.namespace)

	boot := uuid.NewString()
	replica, err := newReplica(hub, o, boot)
	if err != nil {
		return err
	}
	announceDeath(replica, o, boot)
	shared := share.New(board{replica}, time.Now)
	replica.OnPeers(shared.Changed)
	groups := vmgroup.NewGroups()
	admission, keeper := &door{url: o.admissionURL}, newKeeper(o)
	members, err := member.NewProvider(member.Options{
		Namespace: o.namespace, InstallationUID: installation, HubName: hub.Host,
		Local: o.localMember, HubConfig: hub,
		QPS: float32(o.memberQPS), Burst: o.memberBurst, UserAgent: hub.UserAgent,
		Leadership: replica, Counts: groups.CountMember, Gone: groups.ForgetMember,
		Admission: admission,
	})
	if err != nil {
		return fmt.Errorf("prepare the member clusters: %w", err)
	}
	mgr, err := mcmanager.New(hub, members, managerOptions(o, scheme, keeper))
	if err != nil {
		return fmt.Errorf("prepare the manager: %w", err)
	}
	op := operator{
		options: o, installation: installation, boot: boot,
		mgr: mgr, members: members, groups: groups, replica: replica, shared: shared,
		admission: admission, keeper: keeper, leaving: &leaving{},
	}
	if err := op.addControllers(); err != nil {
		return err
	}
	return runSharded(ctx, replica, shared, op.leaving.leave, mgr.Start)
}

// operator is what a manager is wired from.
type operator struct {
	options
	installation, boot string
	mgr                mcmanager.Manager
	members            *member.Provider
	groups             *vmgroup.Groups
	replica            *sharding.Replica
	shared             *share.Coordinator
	admission          *door
	// keeper is nil without webhooks.
	keeper  *serving.Keeper
	leaving *leaving
}

func managerOptions(o options, scheme *runtime.Scheme, keeper *serving.Keeper) manager.Options {
	return manager.Options{
		Scheme:                  scheme,
		Metrics:                 metricsOptions(o),
		HealthProbeBindAddress:  o.probeAddress,
		GracefulShutdownTimeout: new(managerGrace),
		// Every replica runs everything: which groups it acts on, and whether it does what must be done once, is decided by
		// the ring. The manager's own election would end the process whenever the hub is away for ten seconds.
		LeaderElection: false,
		WebhookServer:  webhookServer(o, keeper),
		// See controllerOptions of the VmGroup controller: the priority queue can hang when it is shut down.
		Controller: controllerconfig.Controller{UsePriorityQueue: new(bool)},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				// Secrets of other namespaces are none of the operator's business, and it may not read them.
				&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.namespace: {}}},
			},
		},
	}
}

func (op operator) addControllers() error {
	mgr, members, groups, replica := op.mgr, op.members, op.groups, op.replica
	hub := mgr.GetLocalManager()
	if err := member.SetupWithManager(mgr, members); err != nil {
		return fmt.Errorf("set up the MemberCluster controller: %w", err)
	}
	members.OnMemberChanged(groups.MemberChanged)
	groups.OnCount(members.CountsChanged)
	groups.OnServed(members.Serves)
	pool := vcenter.NewPool()
	login := &session.Process{Boot: op.boot, Dead: replica.BootDead}
	vcenters := &vcenter.Reconciler{
		Client: hub.GetClient(), Pool: pool, Groups: groups, Dial: dialer(op.installation, login, op.shared), Leadership: replica,
		Events: hub.GetEventRecorder("vmgroup-operator"), Namespace: op.namespace, Now: time.Now,
	}
	if err := vcenters.SetupWithManager(hub); err != nil {
		return fmt.Errorf("set up the VCenter controller: %w", err)
	}
	reconciler := &vmgroup.Reconciler{
		Clusters: mgr, Members: memberOf(members), Hub: hub.GetClient(), Servers: pool,
		Shards: replica, Groups: groups, Installation: op.installation, Now: time.Now,
	}
	ledger, err := op.newLedger(hub, reconciler)
	if err != nil {
		return err
	}
	reconciler.Quotas, reconciler.PoliciesChanged = ledger, op.admission.changed
	if err := reconciler.SetupWithManager(mgr, vmgroup.Options{Workers: op.workers}); err != nil {
		return fmt.Errorf("set up the VmGroup controller: %w", err)
	}
	policies := &policy.Reconciler{Client: hub.GetClient(), Judge: reconciler.Judge, Now: time.Now, Leadership: replica}
	if err := policies.SetupWithManager(hub); err != nil {
		return fmt.Errorf("set up the VmGroupPolicy controller: %w", err)
	}
	if err := op.addAdmission(hub, knowledge{reconciler, ledger}); err != nil {
		return err
	}
	replica.OnGained(groups.Gained)
	replica.OnLost(reconciler.Lost)
	replica.OnLeading(members.LeadershipChanged)
	replica.OnLeading(vcenters.LeadershipChanged)
	replica.OnLeading(policies.LeadershipChanged)
	replica.OnDead(pool.EndLeftovers)
	deaths, err := watchDeaths(hub, replica, op.namespace)
	if err != nil {
		return err
	}
	warm := &warmUp{hub: hub, members: members, vcenters: pool, ready: replica.Ready}
	return errors.Join(
		hub.Add(&vmgroup.Watchman{Reconciler: reconciler, Leading: replica.Leading, Unowned: replica.Unowned}),
		hub.Add(deaths),
		hub.Add(warm),
		mgr.AddReadyzCheck("warm", warm.check),
		mgr.AddHealthzCheck("alive", healthz.Ping),
		mgr.AddReadyzCheck("caches", cachesSynced(hub)),
		mgr.AddReadyzCheck("ring", sharesWork(replica)),
	)
}

func memberOf(provider *member.Provider) vmgroup.Members {
	return func(name string) (vmgroup.Member, bool) {
		m, ok := provider.Member(name)
		return vmgroup.Member{Name: m.Name, UID: m.ClusterUID, Paused: m.Paused, Silent: ok && !m.Reachable, UserDataSecrets: m.UserDataSecrets}, ok
	}
}
