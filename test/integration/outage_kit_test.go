//go:build unix

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/localcluster"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// prompt is the time limit of work that an outage does not affect. The outages last until then: work that waited for
// the end of one, or for many timeouts, would not finish. It takes a second or two, and much more on a busy machine.
const prompt = time.Minute

// vcenterUnderTest is a VCenter object with a separate proxy and root folder, so that stories about its outages can run
// concurrently.
type vcenterUnderTest struct {
	t     *testing.T
	w     *world
	name  string
	proxy *sim.Proxy
}

func newVCenter(t *testing.T, w *world, name string, change ...func(*v1alpha1.VCenterSpec)) *vcenterUnderTest {
	t.Helper()
	proxy, err := sim.NewProxy(w.Sim.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	proxy.AskOwners(w.Person)
	return newVCenterAt(t, w, name, proxy, change...)
}

func newVCenterAt(t *testing.T, w *world, name string, proxy *sim.Proxy, change ...func(*v1alpha1.VCenterSpec)) *vcenterUnderTest {
	t.Helper()
	var standard v1alpha1.VCenter
	if err := w.Hub.Get(t.Context(), key("", "default"), &standard); err != nil {
		t.Fatal(err)
	}
	vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *standard.Spec.DeepCopy()}
	vcenter.Spec.Folder, vcenter.Spec.Server = name, proxy.URL
	for _, c := range change {
		c(&vcenter.Spec)
	}
	if err := w.Hub.Create(t.Context(), vcenter); err != nil {
		t.Fatal(err)
	}
	v := &vcenterUnderTest{t: t, w: w, name: name, proxy: proxy}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := client.IgnoreNotFound(w.Hub.Delete(ctx, vcenter)); err != nil {
			t.Error(err)
		}
		if err := await.Condition(ctx, "VCenter "+name+" to be gone", func(ctx context.Context) (bool, error) {
			err := w.Hub.Get(ctx, key("", name), vcenter)
			return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
		}); err != nil {
			t.Errorf("%v; conditions: %s", err, stack.Words(vcenter.Status.Conditions))
		}
	})
	v.untilSays(v1alpha1.ConditionReady, "True", "")
	return v
}

// of makes a group use the VCenter.
func (v *vcenterUnderTest) of(g *v1alpha1.VmGroup) { g.Spec.VCenter = v.name }

// untilSays waits for a condition of the VCenter with a message that mentions its subject.
func (v *vcenterUnderTest) untilSays(conditionType string, status metav1.ConditionStatus, reason string, mentions ...string) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	vcenter := &v1alpha1.VCenter{}
	what := fmt.Sprintf("VCenter %s to be %s=%s %s with a message with %q", v.name, conditionType, status, reason, mentions)
	if err := await.Condition(ctx, what, func(ctx context.Context) (bool, error) {
		err := v.w.Hub.Get(ctx, key("", v.name), vcenter)
		return says(vcenter.Status.Conditions, conditionType, status, reason, mentions), err
	}); err != nil {
		v.t.Fatalf("%v; conditions: %s", err, stack.Words(vcenter.Status.Conditions))
	}
}

// sessions counts the manager's logins for this VCenter, read directly from vCenter.
func (v *vcenterUnderTest) sessions() int {
	v.t.Helper()
	all, err := v.w.Person.Sessions(v.t.Context())
	if err != nil {
		v.t.Fatal(err)
	}
	n := 0
	for _, s := range all {
		if strings.Contains(s.UserAgent, "vcenter "+v.name+";") {
			n++
		}
	}
	return n
}

func (v *vcenterUnderTest) oneSession() {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	n := 0
	if err := await.Condition(ctx, "one session for VCenter "+v.name, func(context.Context) (bool, error) {
		n = v.sessions()
		return n == 1, nil
	}); err != nil {
		v.t.Errorf("%v; there are %d", err, n)
	}
}

// down cuts every call, including those in flight, until the returned function is called.
func (v *vcenterUnderTest) down() (up func()) {
	v.proxy.Hook(func(sim.Call) faultproxy.Fault { return faultproxy.Fault{Act: faultproxy.CutBefore} })
	v.proxy.CutConnections()
	return func() { v.proxy.Hook(nil) }
}

// unchanged fails if vCenter received a change and did not reject it.
func (v *vcenterUnderTest) unchanged(during string) {
	v.t.Helper()
	for _, r := range v.proxy.Records() {
		if done := r.Outcome == "ok" || r.Outcome == "" || r.Task != ""; done {
			v.t.Errorf("%s: %s on %s %s for group %q, outcome %q", during, r.Method, r.Object, r.Name, r.Group, r.Outcome)
		}
	}
}

// neitherMadeNorDestroyed fails if vCenter received a request to create or destroy a VM. Earlier operations can end.
func (v *vcenterUnderTest) neitherMadeNorDestroyed(during string) {
	v.t.Helper()
	for _, r := range v.proxy.Changes("CloneVM_Task", "Destroy_Task", "PowerOffVM_Task", "ShutdownGuest", "CreateFolder") {
		v.t.Errorf("%s: %s on %s %s for group %q, outcome %q", during, r.Method, r.Object, r.Name, r.Group, r.Outcome)
	}
}

// done counts the calls of a method that vCenter accepted.
func (v *vcenterUnderTest) done(method string) int {
	v.t.Helper()
	n := 0
	for _, r := range v.proxy.Changes(method) {
		if r.Task != "" {
			n++
		}
	}
	return n
}

// says reports whether a condition is as wanted and its message has the necessary details. An empty reason means any.
func says(conditions []metav1.Condition, conditionType string, status metav1.ConditionStatus, reason string, mentions []string) bool {
	c := meta.FindStatusCondition(conditions, conditionType)
	return c != nil && c.Status == status && (reason == "" || c.Reason == reason) &&
		!slices.ContainsFunc(mentions, func(m string) bool { return !strings.Contains(c.Message, m) })
}

// othersAreServed shows that a group of another VCenter and another member becomes ready during an outage.
func othersAreServed(t *testing.T, w *world, member, namespace string) {
	t.Helper()
	p := newPlace(t, w, member, namespace)
	began := time.Now()
	p.apply(p.group("bystander", 1, func(g *v1alpha1.VmGroup) { g.Spec.VCenter = bulk }))
	p.untilRunning("bystander", 1)
	if took := time.Since(began); took > prompt {
		t.Errorf("a group that the outage does not concern took %s", took)
	}
}

// sameManager fails if the manager is not the process that it was when the test began.
func sameManager(t *testing.T, w *world) {
	t.Helper()
	began := w.Manager
	t.Cleanup(func() {
		select {
		case <-began.Done():
			t.Errorf("the manager ended; its last words:\n%s", began.Tail(20))
		default:
		}
	})
}

// joinAgain joins a member with the kubeconfig that leads through its proxy.
func joinAgain(t *testing.T, w *world, member string) {
	t.Helper()
	kubeconfig, err := w.Members[member].MemberKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Join(t.Context(), member, kubeconfig); err != nil {
		t.Fatal(err)
	}
}

// throughProxies ensures that the manager reaches all members through their proxies: other stories let it connect in
// other ways.
func throughProxies(t *testing.T, w *world) {
	t.Helper()
	for name, c := range w.Members {
		watched := make(chan struct{}, 1)
		c.Proxy.Hook(func(call localcluster.APICall) faultproxy.Fault {
			if call.Verb == "watch" && call.Resource == "vmgroups" {
				select {
				case watched <- struct{}{}:
				default:
				}
			}
			return faultproxy.Fault{}
		})
		joinAgain(t, w, name)
		c.Proxy.CutWatches() // connected clients watch again
		select {
		case <-watched:
		case <-time.After(patience):
			t.Fatalf("the manager does not watch the VmGroups of %s through its proxy", name)
		}
		c.Proxy.Hook(nil)
		untilMember(t, w, name, "True", "")
	}
}
