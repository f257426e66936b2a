package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
)

// lookTimeout limits each request.
const lookTimeout = 15 * time.Second

// look runs the requests of a check.
type look struct {
	Options
	config *rest.Config
	hub    client.Client
	// refused is true if the API server has refused to let the check read something.
	refused bool
}

// unread returns the finding about something that cannot be read.
func (l *look) unread(about, says string, err error, todo string) finding {
	if apierrors.IsForbidden(err) {
		l.refused, todo = true, "Run the check with an identity that has this permission."
	}
	return finding{failure, about, says + ": " + oneLine(err), todo}
}

func (l *look) unreadRing(err error) []finding {
	return []finding{l.unread("shard map", "cannot be read", err, "See manager shards, and docs/explanation/sharding.md.")}
}

// all runs all checks, and stops if the rest cannot be checked.
func (l *look) all(ctx context.Context) []finding {
	l.refused = false
	version, err := l.version(ctx)
	found := []finding{assessAPIServer(version, err)}
	if err != nil {
		return found
	}
	served, err := l.kinds(ctx)
	kinds := assessKinds(served, err)
	found = append(found, kinds)
	found = append(found, l.replicasAndRing(ctx)...)
	if kinds.level < failure {
		found = append(found, l.objects(ctx)...)
	}
	if l.Webhook.URL != "" {
		found = append(found, assessWebhook(l.Webhook.callAll(ctx)))
	}
	return found
}

func (l *look) discovery() (*discovery.DiscoveryClient, error) {
	config := rest.CopyConfig(l.config)
	config.Timeout = lookTimeout
	return discovery.NewDiscoveryClientForConfig(config)
}

func (l *look) version(_ context.Context) (string, error) {
	server, err := l.discovery()
	if err != nil {
		return "", err
	}
	version, err := server.ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}

// kinds returns the served kinds of the operator's API group: those of established CRDs.
func (l *look) kinds(context.Context) (map[string]bool, error) {
	server, err := l.discovery()
	if err != nil {
		return nil, err
	}
	list, err := server.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	if err != nil {
		return nil, err
	}
	served := map[string]bool{}
	for _, resource := range list.APIResources {
		served[resource.Kind] = true
	}
	return served, nil
}

// replicasAndRing takes two snapshots, with more than a renewal interval in between: a live session was renewed, whatever
// the clocks.
func (l *look) replicasAndRing(ctx context.Context) []finding {
	wanted, running, err := l.wanted(ctx)
	if err != nil {
		return []finding{l.unread("replicas", fmt.Sprintf("Deployment %s/%s cannot be read", l.Namespace, l.Deployment), err,
			"Name it with --deployment, or say with --replicas how many must work.")}
	}
	shards, err := hub.New(l.config, hub.Options{Namespace: l.Namespace})
	if err != nil {
		return l.unreadRing(err)
	}
	before, err := l.snapshot(ctx, shards)
	if err != nil {
		return l.unreadRing(err)
	}
	pause := time.NewTimer(before.Ring.Settings.Validity * 3 / 8)
	defer pause.Stop()
	select {
	case <-ctx.Done():
	case <-pause.C:
	}
	after, err := l.snapshot(ctx, shards)
	if err != nil {
		return l.unreadRing(err)
	}
	working := workingSessions(before, after)
	return []finding{assessReplicas(wanted, running, len(working)), assessRing(after, working)}
}

func (l *look) snapshot(ctx context.Context, shards *hub.Client) (hub.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	return shards.Snapshot(ctx)
}

// wanted returns how many replicas must work, and how many of their Pods are ready.
func (l *look) wanted(ctx context.Context) (wanted, ready int, err error) {
	if l.Replicas > 0 {
		return l.Replicas, l.Replicas, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	deployment := &appsv1.Deployment{}
	if err := l.hub.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: l.Deployment}, deployment); err != nil {
		return 0, 0, err
	}
	wanted = 1
	if deployment.Spec.Replicas != nil {
		wanted = int(*deployment.Spec.Replicas)
	}
	return wanted, int(deployment.Status.ReadyReplicas), nil
}

// objects checks condition Ready of the VCenters, MemberClusters and VmGroupPolicies.
func (l *look) objects(ctx context.Context) []finding {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	vcenters, members, policies := &v1alpha1.VCenterList{}, &v1alpha1.MemberClusterList{}, &v1alpha1.VmGroupPolicyList{}
	for _, list := range []client.ObjectList{vcenters, members, policies} {
		if err := l.hub.List(ctx, list); err != nil {
			return []finding{l.unread("objects", "cannot be listed", err, "")}
		}
	}
	var found []finding
	for i := range vcenters.Items {
		found = append(found, assessObject("VCenter", vcenters.Items[i].ObjectMeta, vcenters.Items[i].Status.Conditions))
	}
	for i := range members.Items {
		found = append(found, assessObject("MemberCluster", members.Items[i].ObjectMeta, members.Items[i].Status.Conditions))
	}
	for i := range policies.Items {
		found = append(found, assessObject("VmGroupPolicy", policies.Items[i].ObjectMeta, policies.Items[i].Status.Conditions))
	}
	if len(vcenters.Items) == 0 {
		found = append(found, finding{warning, "VCenter", "there is none", "Create one: no group can have VMs without it."})
	}
	if len(members.Items) == 0 {
		found = append(found, finding{warning, "MemberCluster", "there is none", "Join a cluster: groups are served in members only."})
	}
	return found
}

func assessObject(kind string, object metav1.ObjectMeta, conditions []metav1.Condition) finding {
	return assessReady(kind+" "+object.Name, object.Generation, conditions)
}

var errNoRing = errors.New("there is none: no replica has run here yet")
