//go:build unix && !fast

package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
)

// replica is one of several that share a hub, each behind its own proxy that records its writes there.
type replica struct {
	*installation
	agent string
	hub   *localcluster.APIProxy
	leads atomic.Bool
}

func (r *replica) Leading() bool { return r.leads.Load() }

// lead changes the leader, as the wiring does.
func (r *replica) lead(leads bool) {
	r.leads.Store(leads)
	r.provider.LeadershipChanged()
}

// resign is lead(false), and returns once all work that began while it led has ended: events are written by a goroutine of
// their own, and the controller and the health checks finish their current pass.
func (r *replica) resign(member string) {
	r.t.Helper()
	r.awaitEvent(member, v1alpha1.ReasonEngaged)
	r.lead(false)
	await.NoError(r.t, "the controller to see that "+r.agent+" does not lead", func() error {
		if r.provider.Observe(member).Commissioned {
			return errors.New("not yet")
		}
		return nil
	})
	r.awaitChecks(member, 1)
}

// newReplica starts a replica. If there are several, the first joins the members, and removes them in the end. Make
// proxies before members: they have to outlive the removal.
func newReplica(t *testing.T, hub *localcluster.ControlPlane, uid, name string, leads bool) *replica {
	t.Helper()
	return newReplicaWith(t, hub, uid, name, leads, func(*testOptions) {})
}

func newReplicaWith(t *testing.T, hub *localcluster.ControlPlane, uid, name string, leads bool, change func(*testOptions)) *replica {
	t.Helper()
	r := &replica{agent: "replica-" + name}
	r.leads.Store(leads)
	r.hub = newProxy(t, hub)
	content, err := r.hub.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	if err != nil {
		t.Fatal(err)
	}
	r.installation = installVia(t, hub, config, uid, func(o *testOptions) {
		o.UserAgent, o.Leader = r.agent, r
		change(o)
	})
	t.Cleanup(func() {
		if len(r.members) > 0 {
			r.lead(true) // to remove them
		}
	})
	return r
}

func newProxy(t *testing.T, cluster *localcluster.ControlPlane) *localcluster.APIProxy {
	t.Helper()
	proxy, err := cluster.NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

// awaitHandle waits until the replica itself serves the member or, with reachable false, holds it without acting.
func (r *replica) awaitHandle(member string, reachable bool) {
	r.t.Helper()
	await.NoError(r.t, fmt.Sprintf("handle of %s at %s, reachable %v", member, r.agent, reachable), func() error {
		if handle, ok := r.opts.Fleet.Member(member); !ok || handle.Silent == reachable {
			return fmt.Errorf("engaged %v: %+v", ok, handle)
		}
		return nil
	})
}

func (r *replica) awaitDisengaged(member string) {
	r.t.Helper()
	await.NoError(r.t, member+" to be disengaged at "+r.agent, func() error {
		if _, ok := r.opts.Fleet.Member(member); ok {
			return errors.New("still engaged")
		}
		switch state := r.provider.Observe(member).State; state {
		case "", link.Left, link.Ended:
			return nil
		default:
			return fmt.Errorf("its connection is %s", state)
		}
	})
}

// wrote reports whether the replica has written to the hub or to the member behind proxy since the last Reset.
func (r *replica) wrote(member *localcluster.APIProxy, want bool) {
	r.t.Helper()
	var writes []string
	for _, record := range r.hub.Records() {
		writes = append(writes, fmt.Sprintf("hub: %s %s %s/%s", record.Verb, record.Resource, record.Name, record.Subresource))
	}
	for _, record := range member.Records() {
		if record.UserAgent == r.agent {
			writes = append(writes, fmt.Sprintf("member: %s %s %s", record.Verb, record.Resource, record.Name))
		}
	}
	if want != (len(writes) > 0) {
		r.t.Errorf("%s, leading %v, wrote %q", r.agent, r.Leading(), writes)
	}
}

func viaProxy(t *testing.T, proxy *localcluster.APIProxy) []byte {
	t.Helper()
	kubeconfig, err := proxy.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func deleteClaim(t *testing.T, member client.Client) {
	t.Helper()
	claim := &corev1.ConfigMap{}
	claim.Namespace, claim.Name = claimKey.Namespace, claimKey.Name
	if err := member.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
}

// spoilCRD changes the member's CRD so that a leader must update it.
func spoilCRD(t *testing.T, member client.Client) {
	t.Helper()
	// The API server writes the status of CRDs.
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		installed := &apiextensionsv1.CustomResourceDefinition{}
		if err := member.Get(t.Context(), client.ObjectKey{Name: crd.VmGroupName}, installed); err != nil {
			t.Fatalf("the CRD: %v", err)
		}
		installed.Annotations[crd.HashAnnotation] = "spoiled"
		return member.Update(t.Context(), installed)
	}); err != nil {
		t.Fatal(err)
	}
}

func awaitCRD(t *testing.T, member client.Client) {
	t.Helper()
	await.NoError(t, "the CRD to be brought up to date", func() error {
		installed, err := crds.Get(t.Context(), member, crd.VmGroupName)
		if err == nil && installed.Annotations[crd.HashAnnotation] == "spoiled" {
			err = errors.New("it is not")
		}
		return err
	})
}

func awaitClaim(t *testing.T, member client.Client, there bool) {
	t.Helper()
	await.NoError(t, fmt.Sprintf("claim there: %v", there), func() error {
		err := member.Get(t.Context(), claimKey, &corev1.ConfigMap{})
		if there != (err == nil) {
			return fmt.Errorf("the claim: %w", errors.Join(err, client.IgnoreNotFound(err)))
		}
		return client.IgnoreNotFound(err)
	})
}

func TestAReplicaThatDoesNotLeadServesMembersAndWritesNothing(t *testing.T) {
	servers := clustersForTest(t)
	member := newProxy(t, servers.alpha)
	first := newReplica(t, servers.hub, "replicas", "first", true)
	second := newReplica(t, servers.hub, "replicas", "second", false)
	first.join("alpha", viaProxy(t, member))
	first.awaitEngaged("alpha")
	second.awaitHandle("alpha", true)
	newGroup(t, servers.alpha, "shared")
	first.awaitReconciled("alpha", "shared")
	second.awaitReconciled("alpha", "shared")
	second.awaitChecks("alpha", 3)
	second.wrote(member, false)
	first.wrote(member, true)

	// The leadership changes; nothing ends, only the writer changes.
	before, _ := first.provider.Get(t.Context(), "alpha")
	direct := directClient(t, servers.alpha.Config)
	first.resign("alpha")
	spoilCRD(t, direct)
	second.lead(true)
	awaitCRD(t, direct)
	first.hub.Reset()
	member.Reset()
	first.edit("alpha", func(mc *v1alpha1.MemberCluster) { mc.Spec.Paused = true })
	deleteClaim(t, direct)
	awaitClaim(t, direct, true)
	await.NoError(t, "status of the new generation", func() error {
		if mc := first.get("alpha"); mc.Status.ObservedGeneration != mc.Generation {
			return fmt.Errorf("generation %d, observed %d", mc.Generation, mc.Status.ObservedGeneration)
		}
		return nil
	})
	first.awaitHandle("alpha", true)
	first.awaitChecks("alpha", 3)
	first.wrote(member, false)
	second.wrote(member, true)
	if after, err := first.provider.Get(t.Context(), "alpha"); err != nil || after != before {
		t.Errorf("losing the leadership replaced the connection (%v)", err)
	}
	second.lead(false)
}

func TestAReplicaThatDoesNotLeadWaitsForTheLeadersBootstrap(t *testing.T) {
	servers := clustersForTest(t)
	member := newProxy(t, servers.alpha)
	r := newReplica(t, servers.hub, "waits", "only", false)
	looks := atomic.Int32{}
	member.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Resource == "namespaces" && call.Name == claimKey.Namespace {
			looks.Add(1)
		}
		return faultproxy.Fault{}
	})
	r.join("alpha", viaProxy(t, member))
	await.NoError(t, "checks of the member", func() error {
		if n := looks.Load(); n < 3 {
			return fmt.Errorf("%d so far", n)
		}
		return nil
	})
	waiting := []link.State{link.Connecting, link.Equipping, link.AwaitingLeader}
	if seen := r.provider.Observe("alpha"); !slices.Contains(waiting, seen.State) || seen.Problem != nil || seen.ClusterUID == "" {
		t.Errorf("waiting for the leader shows as %+v", seen)
	}
	if _, ok := r.opts.Fleet.Member("alpha"); ok {
		t.Error("an unclaimed member is engaged")
	}
	if mc := r.get("alpha"); len(mc.Finalizers) > 0 || len(mc.Status.Conditions) > 0 {
		t.Errorf("the MemberCluster was written: %v, %+v", mc.Finalizers, mc.Status)
	}
	r.wrote(member, false)

	r.lead(true)
	if mc := r.awaitEngaged("alpha"); len(mc.Finalizers) == 0 {
		t.Error("the member was claimed without a finalizer")
	}
	awaitClaim(t, directClient(t, servers.alpha.Config), true)
}

func TestADeletedMemberClusterIsLeftByTheLeaderOnly(t *testing.T) {
	servers := clustersForTest(t)
	member := newProxy(t, servers.alpha)
	first := newReplica(t, servers.hub, "left", "first", true)
	second := newReplica(t, servers.hub, "left", "second", false)
	direct := directClient(t, servers.alpha.Config)
	first.join("alpha", viaProxy(t, member))
	first.awaitEngaged("alpha")
	second.awaitHandle("alpha", true)
	first.resign("alpha") // no replica leads

	first.hub.Reset()
	member.Reset()
	first.beginLeave("alpha")
	first.awaitDisengaged("alpha")
	second.awaitDisengaged("alpha")
	first.wrote(member, false)
	second.wrote(member, false)
	awaitClaim(t, direct, true)
	if mc := first.get("alpha"); mc.DeletionTimestamp.IsZero() || len(mc.Finalizers) == 0 {
		t.Errorf("the MemberCluster lost its finalizer: %v", mc.Finalizers)
	}

	// A replica that begins to lead, and does not for long enough.
	reached := make(chan struct{})
	told := sync.OnceFunc(func() { close(reached) })
	member.Hook(func(call localcluster.APICall) faultproxy.Fault {
		if call.Name == install.ClaimName {
			told()
			return faultproxy.Fault{Act: faultproxy.CutBefore}
		}
		return faultproxy.Fault{}
	})
	second.lead(true)
	await.Received(t, "a request for the claim", reached)
	second.lead(false)
	await.NoError(t, "the leaving to be given up", func() error {
		if state := second.provider.Observe("alpha").State; state != link.Ended {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
	member.Hook(nil)
	awaitClaim(t, direct, true)
	second.lead(true)
	first.awaitLeft("alpha")
	awaitClaim(t, direct, false)
	first.wrote(member, false)

	// Under its new UID both serve it again.
	first.join("alpha", nil)
	first.awaitHandle("alpha", true)
	second.awaitHandle("alpha", true)
}

func TestNobodyActsUnderAMissingClaim(t *testing.T) {
	servers := clustersForTest(t)
	member := newProxy(t, servers.alpha)
	r := newReplica(t, servers.hub, "missing", "only", true)
	r.join("alpha", viaProxy(t, member))
	r.awaitEngaged("alpha")
	r.lead(false)
	before, _ := r.provider.Get(t.Context(), "alpha")
	direct := directClient(t, servers.alpha.Config)
	deleteClaim(t, direct)
	r.awaitHandle("alpha", false)
	if err := direct.Get(t.Context(), claimKey, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("the claim was taken by a replica that does not lead (%v)", err)
	}
	r.lead(true)
	r.awaitHandle("alpha", true)
	awaitClaim(t, direct, true)
	if after, err := r.provider.Get(context.Background(), "alpha"); err != nil || after != before {
		t.Errorf("the caches did not stay warm (%v)", err)
	}
}
