//go:build unix && !fast

package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// silentKubeconfig points to a listener that accepts connections, reads and never answers.
func silentKubeconfig(t *testing.T) []byte {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var accepted []net.Conn
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			accepted = append(accepted, conn)
			mu.Unlock()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range accepted {
			_ = conn.Close()
		}
	})
	return kubeconfigFor(listener.Addr())
}

func kubeconfigFor(server net.Addr) []byte {
	return []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: x
contexts: [{name: x, context: {cluster: x, user: x}}]
clusters: [{name: x, cluster: {server: "https://%s"}}]
users: [{name: x, user: {token: t}}]
`, server))
}

func TestSilentMembersDelayNobody(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "silent", func(o *testOptions) {
		// With these, any wait for an unresponsive member lasts until the test has failed.
		o.Timings.Dial, o.Timings.Request, o.Timings.ResponseHeader = time.Hour, time.Hour, time.Hour
		o.Timings.Leave = 2 * time.Second
	})
	for i := range 6 { // more than the controller has workers
		in.join(fmt.Sprintf("silent-%d", i), silentKubeconfig(t))
	}
	for i := range 6 {
		in.awaitReady(fmt.Sprintf("silent-%d", i), metav1.ConditionUnknown, v1alpha1.ReasonConnecting)
	}
	in.join("alpha", servers.alpha.Kubeconfig())
	in.awaitEngaged("alpha")
	newGroup(t, servers.alpha, "undelayed")
	in.awaitReconciled("alpha", "undelayed")
	// A replaced incarnation ends immediately although its handshake hangs, and so do a removal and the
	// manager.
	in.putKubeconfig("silent-0", servers.beta.Kubeconfig())
	in.awaitEngaged("silent-0")
	in.leave("silent-1")
	begun := time.Now()
	in.stop()
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("the manager took %s to stop", took)
	}
	timings := testTimings()
	timings.Leave = in.provider.Options().Timings.Leave
	in.start(servers.hub.Config, withTimings(in.opts, timings)) // for the cleanup
}

func withTimings(o testOptions, timings settings.Timings) testOptions {
	o.Timings = timings
	return o
}

func TestSilentMemberIsReported(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "reported", func(o *testOptions) {
		o.Timings.Dial, o.Timings.Request = 200*time.Millisecond, 200*time.Millisecond
		o.Timings.Leave = 2 * time.Second
	})
	in.join("silent", silentKubeconfig(t))
	mc := in.awaitReady("silent", metav1.ConditionFalse, v1alpha1.ReasonMemberUnreachable)
	ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	if !strings.Contains(ready.Message, "does not answer in time") {
		t.Errorf("message = %q", ready.Message)
	}
	in.awaitEvent("silent", v1alpha1.ReasonMemberUnreachable)
}

func TestAMemberThatDoesNotAnswerIsAskedOftenHoweverLongItIsAway(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "knocked", func(o *testOptions) {
		o.Timings.BackoffMin, o.Timings.BackoffMax = time.Hour, time.Hour
		o.Timings.Knock = 50 * time.Millisecond
		o.Timings.Dial, o.Timings.Request = 200*time.Millisecond, 200*time.Millisecond // one connection for each attempt
		o.Timings.Leave = 100 * time.Millisecond
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var asked atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}()
		}
	}()
	in.join("away", kubeconfigFor(listener.Addr()))
	await.NoError(t, "more than the first attempts", func() error {
		if n := asked.Load(); n < 5 {
			return fmt.Errorf("asked %d times", n)
		}
		return nil
	})
}

func TestRotatedKubeconfigIsPickedUp(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "rotate", nil)
	first, revokeFirst := grant(t, servers.alpha, "rotate-first")
	second, revokeSecond := grant(t, servers.alpha, "rotate-second")
	in.join("alpha", first)
	in.awaitEngaged("alpha")
	before, _ := in.provider.Get(t.Context(), "alpha")

	in.putKubeconfig("alpha", second)
	await.NoError(t, "the new incarnation", func() error {
		after, err := in.provider.Get(t.Context(), "alpha")
		if err == nil && after == before {
			err = errors.New("still the old one")
		}
		return err
	})
	revokeFirst()
	err := before.GetAPIReader().Get(t.Context(), claimKey, &corev1.ConfigMap{})
	if !errors.Is(err, memberapi.ErrEnded) {
		t.Errorf("the old client still works: %v", err)
	}
	newGroup(t, servers.alpha, "rotated")
	in.awaitReconciled("alpha", "rotated")
	in.awaitChecks("alpha", 2)
	in.awaitEngaged("alpha")

	t.Run("to a refused one", func(t *testing.T) {
		in.putKubeconfig("alpha", []byte(strings.Replace(string(second), "client-key-data:", "tokenFile: /etc/passwd\n    client-key-data:", 1)))
		mc := in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonKubeconfigRefused)
		ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
		if !strings.Contains(ready.Message, "users[].user.tokenFile") {
			t.Errorf("message = %q", ready.Message)
		}
		if _, ok := in.opts.Fleet.Member("alpha"); ok {
			t.Error("the member is still engaged")
		}
		if !meta.IsStatusConditionTrue(mc.Status.Conditions, v1alpha1.ConditionClaimed) {
			t.Error("a refused kubeconfig does not lose the claim")
		}
	})
	t.Run("to none", func(t *testing.T) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in.namespace, Name: "alpha-kubeconfig"}}
		if err := in.hub.Delete(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonKubeconfigNotFound)
	})
	t.Run("and back", func(*testing.T) {
		in.putKubeconfig("alpha", second)
		in.awaitEngaged("alpha")
	})
	t.Run("with credentials that are not accepted any more", func(t *testing.T) {
		revokeSecond()
		mc := in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonUnauthorized)
		if handle, ok := in.opts.Fleet.Member("alpha"); !ok || !handle.Silent {
			t.Errorf("the member must stay engaged and be marked: %v, %+v", ok, mc.Status.Conditions)
		}
		_, _ = grant(t, servers.alpha, "rotate-second")
		in.awaitEngaged("alpha")
	})
}

func TestMemberIsClaimedByOneHub(t *testing.T) {
	servers := clustersForTest(t)
	one := installed(t, servers.hub, "one", nil)
	one.join("alpha", servers.alpha.Kubeconfig())
	one.awaitEngaged("alpha")
	two := installed(t, servers.beta, "two", nil) // beta is the hub of another installation
	two.join("theirs", servers.alpha.Kubeconfig())
	mc := two.awaitReady("theirs", metav1.ConditionFalse, v1alpha1.ReasonClaimedByAnotherHub)
	if _, ok := two.opts.Fleet.Member("theirs"); ok {
		t.Error("a foreign member is engaged")
	}
	claimed := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionClaimed)
	if claimed == nil || claimed.Status != metav1.ConditionFalse || claimed.Reason != v1alpha1.ReasonClaimedByAnotherHub ||
		!strings.Contains(claimed.Message, `"one"`) || !strings.Contains(claimed.Message, v1alpha1.PredecessorAnnotation+"=one") {
		t.Errorf("Claimed = %+v", claimed)
	}
	one.leave("alpha")
	two.awaitEngaged("theirs")

	member := directClient(t, servers.alpha.Config)
	claim := &corev1.ConfigMap{}
	if err := member.Get(t.Context(), claimKey, claim); err != nil {
		t.Fatal(err)
	}
	claim.Data[install.ClaimInstallationKey] = "third"
	if err := member.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	two.awaitReady("theirs", metav1.ConditionFalse, v1alpha1.ReasonClaimedByAnotherHub)
	if _, ok := two.opts.Fleet.Member("theirs"); ok {
		t.Error("a member whose claim changed hands is still engaged")
	}
	// Leaving does not remove the foreign claim.
	two.leave("theirs")
	if err := member.Get(t.Context(), claimKey, claim); err != nil {
		t.Fatalf("the foreign claim: %v", err)
	}
	if err := member.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	two.join("theirs", nil)
	two.awaitEngaged("theirs")
	if err := member.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: claimKey.Namespace, Name: claimKey.Name}}); err != nil {
		t.Fatal(err)
	}
	await.NoError(t, "the deleted claim to be taken again", func() error { return member.Get(t.Context(), claimKey, claim) })
	if _, ok := two.opts.Fleet.Member("theirs"); !ok {
		t.Error("a member whose claim was deleted must stay engaged")
	}
}

func TestThePinnedOfTwoMemberClustersOfOneClusterIsServed(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "twice", nil)
	in.join("dup-a", nil) // older, but its Secret comes later
	in.awaitReady("dup-a", metav1.ConditionFalse, v1alpha1.ReasonKubeconfigNotFound)
	in.join("dup-b", servers.alpha.Kubeconfig())
	uid := in.awaitEngaged("dup-b").Spec.ClusterUID
	if found, err := in.clusterUID(servers.alpha); err != nil || uid != found {
		t.Fatalf("pinned to %q, the cluster is %q (%v)", uid, found, err)
	}
	in.putKubeconfig("dup-a", servers.alpha.Kubeconfig())
	mc := in.awaitReady("dup-a", metav1.ConditionFalse, v1alpha1.ReasonDuplicateMember)
	if ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, `"dup-b"`) {
		t.Errorf("message = %q", ready.Message)
	}
	if mc.Spec.ClusterUID != "" || mc.Status.ClusterUID != "" {
		t.Errorf("a duplicate has the cluster as well: %q, %q", mc.Spec.ClusterUID, mc.Status.ClusterUID)
	}
	if _, ok := in.opts.Fleet.Member("dup-a"); ok {
		t.Error("the duplicate is engaged")
	}
	// Removing the duplicate keeps the very claim that the other one uses.
	member := directClient(t, servers.alpha.Config)
	before, after := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	if err := member.Get(t.Context(), claimKey, before); err != nil {
		t.Fatal(err)
	}
	in.leave("dup-a")
	if err := member.Get(t.Context(), claimKey, after); err != nil || after.UID != before.UID {
		t.Errorf("the claim was released under the other one: %q, then %q (%v)", before.UID, after.UID, err)
	}
	in.awaitEngaged("dup-b")

	// The hub stores the owner of the cluster, and allows another name only after a user confirms it.
	in.join("dup-a", nil)
	in.awaitReady("dup-a", metav1.ConditionFalse, v1alpha1.ReasonDuplicateMember)
	in.leave("dup-b")
	mc = in.awaitReady("dup-a", metav1.ConditionFalse, v1alpha1.ReasonKnownByAnotherName)
	ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	if way := v1alpha1.TakeClusterUIDAnnotation + "=" + uid; !strings.Contains(ready.Message, `"dup-b"`) || !strings.Contains(ready.Message, way) {
		t.Errorf("message = %q, want %s", ready.Message, way)
	}
	awaitClaim(t, member, false)
	in.edit("dup-a", func(mc *v1alpha1.MemberCluster) {
		mc.Annotations = map[string]string{v1alpha1.TakeClusterUIDAnnotation: uid}
	})
	in.awaitEngaged("dup-a")
	in.join("dup-b", nil)
	in.awaitReady("dup-b", metav1.ConditionFalse, v1alpha1.ReasonDuplicateMember)
	in.awaitEngaged("dup-a")
}

func TestOutageKeepsTheMemberEngaged(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "outage", nil)
	in.join("beta", servers.beta.Kubeconfig())
	in.awaitEngaged("beta")
	newGroup(t, servers.beta, "early")
	in.awaitReconciled("beta", "early")
	before, _ := in.provider.Get(t.Context(), "beta")

	if err := servers.beta.StopAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	restart := sync.OnceValue(func() error { return servers.beta.StartAPIServer(context.Background()) })
	t.Cleanup(func() {
		if err := restart(); err != nil {
			t.Error(err)
		}
	})
	in.awaitReady("beta", metav1.ConditionFalse, v1alpha1.ReasonMemberUnreachable)
	in.awaitEvent("beta", v1alpha1.ReasonMemberUnreachable)
	handle, ok := in.opts.Fleet.Member("beta")
	if !ok || !handle.Silent {
		t.Fatalf("an unreachable member stays engaged and is marked: %v, %+v", ok, handle)
	}
	key := types.NamespacedName{Namespace: "default", Name: "early"}
	if err := before.GetClient().Get(t.Context(), key, &v1alpha1.VmGroup{}); err != nil {
		t.Errorf("the cache is not warm: %v", err)
	}
	if err := restart(); err != nil {
		t.Fatal(err)
	}
	in.awaitEngaged("beta")
	if after, err := in.provider.Get(t.Context(), "beta"); err != nil || after != before {
		t.Errorf("the connection was replaced (%v)", err)
	}
	newGroup(t, servers.beta, "late")
	in.awaitReconciled("beta", "late")
	settled := in.get("beta").ResourceVersion
	in.awaitChecks("beta", 5)
	if now := in.get("beta").ResourceVersion; now != settled {
		t.Errorf("an idle member's status is written: %s -> %s", settled, now)
	}
}
