package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vcenter"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
)

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get,resourceNames=kube-system
// The election tells its changes as core events.
// +kubebuilder:rbac:groups="",resources=events,verbs=create;patch,namespace=system
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update;patch,namespace=system

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

	groups := vmgroup.NewGroups()
	members, err := member.NewProvider(member.Options{
		Namespace: o.namespace, InstallationUID: installation, HubName: hub.Host,
		Local: o.localMember, HubConfig: hub,
		QPS: float32(o.memberQPS), Burst: o.memberBurst, UserAgent: hub.UserAgent,
		Counts: groups.CountMember,
	})
	if err != nil {
		return fmt.Errorf("prepare the member clusters: %w", err)
	}
	mgr, err := mcmanager.New(hub, members, managerOptions(o, scheme))
	if err != nil {
		return fmt.Errorf("prepare the manager: %w", err)
	}
	if err := addControllers(mgr, members, groups, o, installation); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func managerOptions(o options, scheme *runtime.Scheme) manager.Options {
	return manager.Options{
		Scheme:                 scheme,
		Metrics:                server.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress: o.probeAddress,
		LeaderElection:         o.leaderElect, LeaderElectionNamespace: o.namespace,
		LeaderElectionID: "vmgroup-operator.vm.codeconnect.vmworld.com",
		// The process ends right after the manager does, so the next replica need not wait for the lease to expire.
		LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				// Secrets of other namespaces are none of the operator's business, and it may not read them.
				&corev1.Secret{}: {Namespaces: map[string]cache.Config{o.namespace: {}}},
			},
		},
	}
}

func addControllers(mgr mcmanager.Manager, members *member.Provider, groups *vmgroup.Groups, o options, installation string) error {
	hub := mgr.GetLocalManager()
	if err := member.SetupWithManager(mgr, members); err != nil {
		return fmt.Errorf("set up the MemberCluster controller: %w", err)
	}
	members.OnMemberChanged(groups.MemberChanged)
	groups.OnCount(members.CountsChanged)
	pool := vcenter.NewPool()
	vcenters := &vcenter.Reconciler{
		Client: hub.GetClient(), Pool: pool, Groups: groups, Dial: dialer(installation),
		Events: hub.GetEventRecorder("vmgroup-operator"), Namespace: o.namespace, Now: time.Now,
	}
	if err := vcenters.SetupWithManager(hub); err != nil {
		return fmt.Errorf("set up the VCenter controller: %w", err)
	}
	reconciler := &vmgroup.Reconciler{
		Clusters: mgr, Members: memberOf(members), Hub: hub.GetClient(), Servers: pool,
		Gate: sharding.Sole{}, Groups: groups, Installation: installation, Now: time.Now,
	}
	if err := reconciler.SetupWithManager(mgr, vmgroup.Options{Workers: o.workers}); err != nil {
		return fmt.Errorf("set up the VmGroup controller: %w", err)
	}
	return errors.Join(
		mgr.AddHealthzCheck("alive", healthz.Ping),
		mgr.AddReadyzCheck("caches", cachesSynced(hub)),
	)
}

func memberOf(provider *member.Provider) vmgroup.Members {
	return func(name string) (vmgroup.Member, bool) {
		m, ok := provider.Member(name)
		return vmgroup.Member{Name: m.Name, UID: m.ClusterUID, Paused: m.Paused, Silent: ok && !m.Reachable, UserDataSecrets: m.UserDataSecrets}, ok
	}
}
