//go:build unix

package tenancy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/hostileapi"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// attacker is a MemberCluster whose API server lies. Behind it is the attackers' real one, of which it shows the
// groups of one namespace. It shows another cluster UID, so that it is a member like any other.
type attacker struct {
	// Server sends the false responses.
	*hostileapi.Server
	// place is the namespace in the real API server.
	*place
	member string
	proxy  *localcluster.APIProxy
	// clusterUID is the shown one, a string.
	clusterUID atomic.Value
}

// newAttacker returns an attacker that is not joined yet. Its proxy stays until all stories have ended: an unreachable
// member costs the operator more than a reachable one.
func newAttacker(t *testing.T, w *world, name, namespace string) *attacker {
	t.Helper()
	proxy, err := w.Members[attackers].NewProxy()
	if err != nil {
		t.Fatal(err)
	}
	a := &attacker{Server: hostileapi.Before(proxy), place: newPlace(t, w, attackers, namespace), member: fresh(name), proxy: proxy}
	a.clusterUID.Store(string(uuid.NewUUID()))
	a.Lie(func(s hostileapi.Shown) bool {
		if s.Resource == "namespaces" && s.Name == metav1.NamespaceSystem {
			hostileapi.Set(s.Object, a.clusterUID.Load(), "metadata", "uid")
		}
		return s.Resource != groups || s.Namespace == namespace
	})
	return a
}

// join creates its MemberCluster. The objects that the operator installs in a member already exist there, and one of
// them keeps them.
func (a *attacker) join() {
	a.t.Helper()
	kubeconfig, err := a.proxy.Kubeconfig()
	if err != nil {
		a.t.Fatal(err)
	}
	mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: a.member}, Spec: v1alpha1.MemberClusterSpec{
		KubeconfigSecretRef: &v1alpha1.KubeconfigReference{Name: a.member + "-kubeconfig", Key: "kubeconfig"}, Manage: v1alpha1.ManageNone,
	}}
	if err := a.w.Hub.Create(a.t.Context(), mc); err != nil {
		a.t.Fatal(err)
	}
	if err := a.w.Join(a.t.Context(), a.member, kubeconfig); err != nil {
		a.t.Fatal(err)
	}
}

// joined joins the attacker and waits until it is served.
func (a *attacker) joined() *attacker {
	a.t.Helper()
	a.join()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	if err := a.w.UntilServed(ctx, a.member); err != nil {
		a.t.Fatal(err)
	}
	return a
}

// untilItSays waits until its MemberCluster is not Ready for a reason, with a message that mentions its subject.
func (a *attacker) untilItSays(reason string, mentions ...string) {
	a.t.Helper()
	a.untilItSaysWithin(patience, reason, mentions...)
}

// untilItSaysWithin is untilItSays for slower changes.
func (a *attacker) untilItSaysWithin(patience time.Duration, reason string, mentions ...string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	mc := &v1alpha1.MemberCluster{}
	what := fmt.Sprintf("member %s to be not Ready for %s, with a message with %q", a.member, reason, mentions)
	if err := await.Condition(ctx, what, func(ctx context.Context) (bool, error) {
		err := a.w.Hub.Get(ctx, types.NamespacedName{Name: a.member}, mc)
		c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == reason &&
			!slices.ContainsFunc(mentions, func(m string) bool { return !strings.Contains(c.Message, m) }), err
	}); err != nil {
		a.t.Fatalf("%v; conditions: %s", err, stack.Words(mc.Status.Conditions))
	}
}

// untilTold waits until an event of its MemberCluster reports its behavior to the hub administrator, with a note that
// mentions its subject.
func (a *attacker) untilTold(reason string, mentions ...string) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	var notes []string
	if err := await.Condition(ctx, fmt.Sprintf("an event %s of MemberCluster %s with %q", reason, a.member, mentions), func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		if err := a.w.Hub.List(ctx, list); err != nil {
			return false, err
		}
		notes = nil
		for i := range list.Items {
			e := &list.Items[i]
			if e.Regarding.Kind != "MemberCluster" || e.Regarding.Name != a.member {
				continue
			}
			notes = append(notes, e.Reason+": "+e.Note)
			if e.Reason == reason && !slices.ContainsFunc(mentions, func(m string) bool { return !strings.Contains(e.Note, m) }) {
				return true, nil
			}
		}
		return false, nil
	}); err != nil {
		a.t.Errorf("%v; events are %q", err, notes)
	}
}

// invention is a valid VmGroup that no user has created.
func (a *attacker) invention(name string, uid types.UID, replicas int32) hostileapi.Object {
	g := a.object(name)
	g.UID, g.Generation, g.CreationTimestamp = uid, 1, metav1.Now()
	g.Spec = v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas}
	return hostileapi.ObjectOf(g)
}

// untilInvented waits until an invented group is as wanted; it is nil once the group does not exist any more.
func (a *attacker) untilInvented(what, name string, wanted func(hostileapi.Object) bool) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	var o hostileapi.Object
	if err := await.Condition(ctx, fmt.Sprintf("the invented VmGroup %s of %s: %s", name, a.member, what), func(context.Context) (bool, error) {
		o, _ = a.Invented(groups, a.namespace, name)
		return wanted(o), nil
	}); err != nil {
		a.t.Fatalf("%v; it is %v", err, o)
	}
}

// isOurs reports whether the operator serves an invented group.
func isOurs(o hostileapi.Object) bool {
	metadata, _ := o["metadata"].(hostileapi.Object)
	finalizers, _ := metadata["finalizers"].([]any)
	return slices.Contains(finalizers, any(v1alpha1.VmGroupFinalizer))
}

// heard waits until the operator has received all inventions so far: it serves a group that is invented now.
func (a *attacker) heard() {
	a.t.Helper()
	name := fresh("canary")
	a.Invent(groups, a.invention(name, uuid.NewUUID(), 0))
	a.untilInvented("the operator to look after it", name, func(o hostileapi.Object) bool {
		return isOurs(o) && hostileapi.Text(o, "status", "phase") == string(v1alpha1.PhaseRunning)
	})
	a.Forget(groups, a.namespace, name)
}

// restless makes the operator write the status of an invented group repeatedly, until stop is called.
func (a *attacker) restless(name string) (stop func()) {
	ctx, cancel := context.WithCancel(a.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case at := <-ticker.C:
				a.Change(groups, a.namespace, name, func(o hostileapi.Object) { hostileapi.Set(o, at.String(), "status", "lastMessage") })
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// toldNothingOf fails if the operator wrote a secret of a group to the attacker's API server. also are secrets of this
// story. Each is reported once.
func (a *attacker) toldNothingOf(g *guarded, also ...string) {
	a.t.Helper()
	for _, secret := range also {
		g.hide(secret)
	}
	records := a.proxy.Records()
	for _, secret := range slices.Sorted(maps.Keys(g.secrets)) {
		for _, r := range records {
			if at := g.secrets[secret].FindIndex(r.Body); at != nil {
				words := r.Body[max(0, at[0]-200):min(len(r.Body), at[1]+100)]
				a.t.Errorf("the operator revealed %s to the attacker in a %s of %s %s/%s: …%q…", secret, r.Verb, r.Resource, r.Namespace, r.Name, words)
				break
			}
		}
	}
}
