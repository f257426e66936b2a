//go:build unix && !fast

package member

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/caches"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/crds"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

func TestMembersJoinAndLeaveWhileRunning(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "join", func(o *testOptions) {
		seesGroups(o.Fleet, "alpha", 1, 2, 4)
	})
	alpha, _ := grant(t, servers.alpha, "join-user")
	beta, _ := grant(t, servers.beta, "join-user")
	in.join("alpha", alpha)
	in.join("beta", beta)
	status := in.awaitEngaged("alpha").Status
	in.awaitEngaged("beta")

	member := directClient(t, servers.alpha.Config)
	checkJoined(t, member, status)
	if event := in.awaitEvent("alpha", v1alpha1.ReasonEngaged); event.Type != corev1.EventTypeNormal {
		t.Errorf("event type = %q", event.Type)
	}
	await.NoError(t, "counts", func() error {
		if s := in.get("alpha").Status; s.Groups != 3 || s.VMs != 7 {
			return fmt.Errorf("groups %d, vms %d", s.Groups, s.VMs)
		}
		return nil
	})

	newGroup(t, servers.alpha, "first")
	in.awaitReconciled("alpha", "first")
	cl, err := in.provider.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	namespace := caches.NamespaceMetadata()
	if err := cl.GetClient().Get(t.Context(), client.ObjectKey{Name: "default"}, namespace); err != nil || namespace.Labels["kubernetes.io/metadata.name"] != "default" {
		t.Errorf("labels of namespace default = %v, %v", namespace.Labels, err)
	}
	if err := cl.GetClient().Get(t.Context(), client.ObjectKey{Name: "absent"}, caches.NamespaceMetadata()); !apierrors.IsNotFound(err) {
		t.Errorf("labels of an absent namespace: %v", err)
	}

	in.leave("alpha")
	if _, ok := in.opts.Fleet.Member("alpha"); ok {
		t.Error("the member is still engaged")
	}
	if _, err := in.provider.Get(t.Context(), "alpha"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("Get = %v", err)
	}
	checkLeft(t, member)
	newGroup(t, servers.beta, "second")
	in.awaitReconciled("beta", "second")
	in.join("alpha", nil) // the Secret still exists
	in.awaitEngaged("alpha")
	newGroup(t, servers.alpha, "third")
	in.awaitReconciled("alpha", "third")
}

// checkJoined verifies the objects that a join writes to the hub and to the member.
func checkJoined(t *testing.T, member client.Client, status v1alpha1.MemberClusterStatus) {
	t.Helper()
	kubeSystem := &corev1.Namespace{}
	if err := member.Get(t.Context(), types.NamespacedName{Name: "kube-system"}, kubeSystem); err != nil {
		t.Fatal(err)
	}
	if status.ClusterUID != string(kubeSystem.UID) {
		t.Errorf("clusterUID = %q, want %q", status.ClusterUID, kubeSystem.UID)
	}
	if !strings.HasPrefix(status.KubernetesVersion, "v1.") || status.CRDVersion != strconv.Itoa(crd.Version) || status.LastContactTime == nil {
		t.Errorf("status = %+v", status)
	}
	for _, condition := range []string{v1alpha1.ConditionClaimed, v1alpha1.ConditionCRDInstalled} {
		if !meta.IsStatusConditionTrue(status.Conditions, condition) {
			t.Errorf("%s is not true: %+v", condition, status.Conditions)
		}
	}
	claim := &corev1.ConfigMap{}
	if err := member.Get(t.Context(), claimKey, claim); err != nil {
		t.Fatal(err)
	}
	if claim.Data["installation"] != "join" || claim.Data["hub"] != "hub of join" {
		t.Errorf("claim = %v", claim.Data)
	}
}

// checkLeft verifies that a member that was left has lost the claim, and nothing else.
func checkLeft(t *testing.T, member client.Client) {
	t.Helper()
	claim := &corev1.ConfigMap{}
	if err := member.Get(t.Context(), claimKey, claim); !apierrors.IsNotFound(err) {
		t.Errorf("the claim is still there: %v", err)
	}
	if installed, err := crds.Get(t.Context(), member, crd.VmGroupName); err != nil || installed == nil {
		t.Errorf("the CRD must stay: %v", err)
	}
	if err := member.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: "first"}, &v1alpha1.VmGroup{}); err != nil {
		t.Errorf("the group must stay: %v", err)
	}
}

func TestSettingsChangeWithoutANewConnection(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "settings", nil)
	seesGroups(in.opts.Fleet, "alpha", 1)
	changed := make(chan string, 100)
	in.opts.Fleet.SubscribeGroups(sinkFunc[fleet.Ref](func(of fleet.Ref) { changed <- of.Member }))
	in.join("alpha", servers.alpha.Kubeconfig())
	in.awaitEngaged("alpha")
	before, err := in.provider.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	if handle, _ := in.opts.Fleet.Member("alpha"); handle.Paused || handle.UserDataSecrets != v1alpha1.UserDataDeny || handle.Silent {
		t.Errorf("handle = %+v", handle)
	}
	in.edit("alpha", func(mc *v1alpha1.MemberCluster) {
		mc.Spec.Paused, mc.Spec.UserDataSecrets = true, v1alpha1.UserDataAllow
	})
	if name := await.Received(t, "a group to be delivered", changed); name != "alpha" {
		t.Errorf("changed member = %q", name)
	}
	if handle, ok := in.opts.Fleet.Member("alpha"); !ok || !handle.Paused || handle.UserDataSecrets != v1alpha1.UserDataAllow {
		t.Errorf("handle = %+v, %v", handle, ok)
	}
	if after, err := in.provider.Get(t.Context(), "alpha"); err != nil || after != before {
		t.Errorf("the connection was replaced (%v)", err)
	}
}

func TestRestartChangesNothing(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "restart", nil)
	in.join("alpha", servers.alpha.Kubeconfig())
	in.awaitEngaged("alpha")
	restarted := func() *v1alpha1.MemberCluster {
		in.stop()
		in.start(servers.hub.Config, in.opts)
		await.NoError(t, "handle after the restart", func() error {
			if _, ok := in.opts.Fleet.Member("alpha"); !ok {
				return errors.New("not engaged")
			}
			return nil
		})
		in.awaitChecks("alpha", 2)
		return in.get("alpha")
	}
	before := restarted() // the replica that joined it reports that it installed the CRD, if it did
	if after := restarted(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the restart was written:\n%+v\n%+v", before.Status, after.Status)
	}
}

// awaitChecks waits for n successful health checks of an engaged member.
func (in *installation) awaitChecks(member string, n int) {
	in.t.Helper()
	last := in.provider.Observe(member)
	await.NoError(in.t, "health checks of "+member, func() error {
		seen := in.provider.Observe(member)
		if seen.LastContact.After(last.LastContact) {
			last = seen
			n--
		}
		if n > 0 {
			return fmt.Errorf("%d to go", n)
		}
		return nil
	})
}

func TestLeavingEndsTheMembersGoroutines(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "leak", nil)
	round := func(group string) {
		in.join("alpha", servers.alpha.Kubeconfig())
		in.awaitEngaged("alpha")
		newGroup(t, servers.alpha, group)
		in.awaitReconciled("alpha", group)
		in.leave("alpha")
	}
	in.join("beta", servers.beta.Kubeconfig())
	in.awaitEngaged("beta")
	round("first-leak") // opens the test's own connections, which stay
	existing := goleak.IgnoreCurrent()
	round("leak")
	// A known leak of multicluster-runtime: one goroutine of startWithinContext per source and join, until the manager
	// ends. Its name depends on inlining by the compiler.
	const pkg = "sigs.k8s.io/multicluster-runtime/pkg/controller."
	known := []goleak.Option{
		existing,
		goleak.IgnoreTopFunction(pkg + "(*mcController[...].func2.1"),
		goleak.IgnoreTopFunction(pkg + "startWithinContext[...].func1.1"),
	}
	await.NoError(t, "end of the member's goroutines", func() error { return goleak.Find(known...) })
}

// TestNobodyLooksForEverAtAMemberThatIsGone: removing the member's groups from memory then reports that their counts
// have changed.
func TestNobodyLooksForEverAtAMemberThatIsGone(t *testing.T) {
	servers := clustersForTest(t)
	var looks atomic.Int64
	in := installed(t, servers.hub, "gone", nil)
	seesGroups(in.opts.Fleet, "alpha", 1)
	in.opts.Fleet.SubscribeMembers(sinkFunc[string](func(string) { looks.Add(1) }))
	in.join("alpha", servers.alpha.Kubeconfig())
	in.awaitEngaged("alpha")
	in.leave("alpha")
	// This is the time that another member needs to join.
	in.join("beta", servers.beta.Kubeconfig())
	in.awaitEngaged("beta")
	if n := looks.Load(); n < 1 || n > 5 {
		t.Errorf("the deleted member was checked %d times, want 1 to 5", n)
	}
}

func TestHubIsTheMemberLocal(t *testing.T) {
	servers := clustersForTest(t)
	t.Run("disabled", func(t *testing.T) {
		in := installed(t, servers.hub, "local-off", nil)
		in.join(v1alpha1.LocalMember, nil)
		in.awaitReady(v1alpha1.LocalMember, metav1.ConditionFalse, v1alpha1.ReasonLocalDisabled)
		if _, ok := in.opts.Fleet.Member(v1alpha1.LocalMember); ok {
			t.Error("the hub is engaged")
		}
	})
	t.Run("enabled", func(t *testing.T) {
		in := installed(t, servers.hub, "local-on", func(o *testOptions) { o.Local = true })
		in.join(v1alpha1.LocalMember, nil)
		in.awaitEngaged(v1alpha1.LocalMember)
		newGroup(t, servers.hub, "at-home")
		in.awaitReconciled(v1alpha1.LocalMember, "at-home")
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.reconciled["/default/at-home"] != 0 {
			t.Error("the manager's own cluster is engaged as well")
		}
	})
}

func TestUnreachableMemberCanBeRemoved(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "unreachable", func(o *testOptions) { o.Timings.Leave = 2 * time.Second })
	in.join("never", silentKubeconfig(t))
	in.join("gone", servers.alpha.Kubeconfig())
	in.awaitEngaged("gone")
	in.putKubeconfig("gone", silentKubeconfig(t))
	await.NoError(t, "end of the old connection", func() error {
		if _, ok := in.opts.Fleet.Member("gone"); ok {
			return errors.New("still engaged")
		}
		return nil
	})
	in.leave("gone")
	deleteClaim(t, directClient(t, servers.alpha.Config)) // as the event asks users to do
	in.leave("never")                                     // the cluster has no object of it
	if event := in.awaitEvent("gone", "LeftBehind"); !strings.Contains(event.Note, install.ClaimName) {
		t.Errorf("event = %q", event.Note)
	}
}
