//go:build unix

package integration

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/faultproxy"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestOutageAnUnreachableVCenterHoldsItsGroupsAndNobodyElses(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	v := newVCenter(t, w, "unreachable")
	p := newPlace(t, w, "team-a", "unreachable")
	p.apply(p.group("grows", 2, v.of))
	p.apply(p.group("goes", 2, v.of))
	kept := p.untilRunning("grows", 2)
	p.untilRunning("goes", 2)

	up := v.down()
	v.proxy.Reset()
	v.untilSays(v1alpha1.ConditionReady, "False", v1alpha1.ReasonUnreachable)
	p.patch("grows", `{"spec":{"replicas":4}}`)
	p.delete("goes")
	p.untilSays("grows", v1alpha1.ConditionVCenterReachable, "False", v1alpha1.ReasonVCenterUnreachable, v.name)
	othersAreServed(t, w, "team-b", "unreachable-others")
	if vms := inVCenter(t, w, "/DC0/vm/unreachable"); len(vms) != 4 {
		t.Errorf("during the outage there are %s, want the 4 VMs as they were", paths(vms))
	}
	v.unchanged("while vCenter is unreachable")

	up()
	grown := p.untilRunning("grows", 4)
	p.untilGone("goes")
	if grown.Status.VMs[0].MoRef != kept.Status.VMs[0].MoRef || grown.Status.VMs[1].MoRef != kept.Status.VMs[1].MoRef {
		t.Errorf("VMs were replaced: %+v, were %+v", grown.Status.VMs, kept.Status.VMs)
	}
	untilVCenterHolds(t, w, "/DC0/vm/unreachable", 4)
	v.oneSession()
}

func TestOutageAVCenterThatTakesThreeSecondsForEachCallIsOnlySlow(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	v := newVCenter(t, w, "slow")
	v.proxy.Hook(func(sim.Call) faultproxy.Fault { return faultproxy.Fault{Delay: 3 * time.Second} })
	t.Cleanup(func() { v.proxy.Hook(nil) })
	p := newPlace(t, w, "team-a", "slow")
	p.apply(p.group("vg", 2, v.of))
	othersAreServed(t, w, "team-b", "slow-others")
	p.untilRunning("vg", 2)
	p.patch("vg", `{"spec":{"replicas":1}}`)
	p.untilRunning("vg", 1)
	untilVCenterHolds(t, w, "/DC0/vm/slow", 1)
	if n := len(v.proxy.Changes("CloneVM_Task")); n != 2 {
		t.Errorf("%d clones were asked for, want 2", n)
	}
	if n := v.proxy.Count("Login", ""); n > 1 {
		t.Errorf("%d logins at a slow vCenter, want the first one alone", n)
	}
	v.oneSession()
}

func TestOutageSessionsThatAreEndedInTheMiddleOfAScaleUpAreRenewed(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	v := newVCenter(t, w, "ended")
	p := newPlace(t, w, "team-a", "ended")
	p.apply(p.group("vg", 1, v.of))
	p.untilRunning("vg", 1)
	v.proxy.Reset()
	const times, vms = 5, 24
	p.patch("vg", `{"spec":{"replicas":24}}`)
	for i := range times {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := await.Condition(ctx, "clones to be asked for", func(context.Context) (bool, error) {
			return len(v.proxy.Changes("CloneVM_Task")) > i*4, nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Person.TerminateSessionsOf(ctx, func(s vimtypes.UserSession) bool {
			return strings.Contains(s.UserAgent, "vcenter "+v.name+";")
		}); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	p.untilRunning("vg", vms)
	untilVCenterHolds(t, w, "/DC0/vm/ended", vms)
	if n := len(v.proxy.Changes("Destroy_Task", "PowerOffVM_Task")); n != 0 {
		t.Errorf("%d VMs were powered off or destroyed in a scale-up", n)
	}
	if n := v.proxy.Count("Login", ""); n > times {
		t.Errorf("%d logins for %d ended sessions", n, times)
	}
	v.oneSession()
}

// TestOutageARotatedPasswordIsReportedAndPickedUp: vCenter's password changes, the Secret gets a wrong one, and then
// the right one. The simulator's own password stays: the proxy translates.
func TestOutageARotatedPasswordIsReportedAndPickedUp(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	ctx := t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: "rotating"}}
	t.Cleanup(func() { _ = client.IgnoreNotFound(w.Hub.Delete(context.Background(), secret)) })
	v := newVCenter(t, w, "rotating", func(s *v1alpha1.VCenterSpec) {
		s.CredentialsSecretRef.Name = secret.Name
		secret.StringData = map[string]string{"VC_HOST": s.Server, "username": stack.Username, "password": stack.Password}
		if err := w.Hub.Create(ctx, secret); err != nil {
			t.Fatal(err)
		}
	})
	p := newPlace(t, w, "team-a", "rotating")
	p.apply(p.group("vg", 1, v.of))
	p.untilRunning("vg", 1)

	const rotated, wrong = "the-new-password", "wrong-as-well"
	var otherTried atomic.Bool
	v.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method != "Login" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Rewrite: func(body []byte) []byte {
			if bytes.Contains(body, []byte(wrong)) {
				otherTried.Store(true)
			}
			body = bytes.ReplaceAll(body, []byte(stack.Password), []byte("retired"))
			return bytes.ReplaceAll(body, []byte(rotated), []byte(stack.Password))
		}}
	})
	t.Cleanup(func() { v.proxy.Hook(nil) })
	v.proxy.Reset()
	began := time.Now()
	if _, err := w.Person.TerminateSessionsOf(ctx, func(s vimtypes.UserSession) bool {
		return strings.Contains(s.UserAgent, "vcenter "+v.name+";")
	}); err != nil {
		t.Fatal(err)
	}
	v.untilSays(v1alpha1.ConditionCredentialsValid, "False", v1alpha1.ReasonInvalidLogin, "password")
	p.patch("vg", `{"spec":{"replicas":3}}`)
	p.untilSays("vg", v1alpha1.ConditionVCenterReachable, "False", v1alpha1.ReasonVCenterUnreachable, v.name)
	othersAreServed(t, w, "team-b", "rotating-others")
	setPassword(t, w, secret, wrong)
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := await.Condition(waiting, "the other wrong password to be tried", func(context.Context) (bool, error) {
		return otherTried.Load(), nil // the first one can be retried, too
	}); err != nil {
		t.Fatal(err)
	}
	v.untilSays(v1alpha1.ConditionCredentialsValid, "False", v1alpha1.ReasonInvalidLogin)
	v.unchanged("while the password is wrong")
	// vCenter locks an account after five rejections within minutes. A rejected password is retried after two minutes,
	// and once more later.
	if n, took := v.proxy.Count("Login", ""), time.Since(began); n > 2 && took < 2*time.Minute || n > 4 {
		t.Errorf("%d logins with wrong passwords in %s", n, took)
	}

	setPassword(t, w, secret, rotated)
	v.untilSays(v1alpha1.ConditionReady, "True", "")
	p.untilRunning("vg", 3)
	untilVCenterHolds(t, w, "/DC0/vm/rotating", 3)
	v.oneSession()
}

func setPassword(t *testing.T, w *world, secret *corev1.Secret, password string) {
	t.Helper()
	secret.StringData = map[string]string{"password": password}
	if err := w.Hub.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// TestOutageARootThatIsSuddenlyEmpty: vCenter returns without any of our objects, as after a restore of an old backup.
func TestOutageARootThatIsSuddenlyEmptyHoldsEverythingUntilAPersonDecides(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	first, err := w.StartVCenter(ctx, "emptied", sim.Options{Templates: []string{template}})
	if err != nil {
		t.Fatal(err)
	}
	running := first
	t.Cleanup(func() { running.Kill() }) // on SIGTERM it would wait for the manager, which waits for news
	proxy, err := sim.NewProxy(first.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	v := newVCenterAt(t, w, "emptied", proxy)
	p := newPlace(t, w, "team-a", "emptied")
	p.apply(p.group("vg", 3, v.of))
	p.untilRunning("vg", 3)

	first.Kill()
	again, err := w.StartVCenter(ctx, "emptied", sim.Options{Templates: []string{template}, Listen: first.Address()})
	if err != nil {
		t.Fatal(err)
	}
	running = again
	v.untilSays(v1alpha1.ConditionInventoryComplete, "False", v1alpha1.ReasonInventorySuddenlyEmpty, "accept")
	proxy.Reset()
	p.patch("vg", `{"spec":{"replicas":4}}`)
	p.untilSays("vg", v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonInventoryIncomplete, "empty")
	othersAreServed(t, w, "team-b", "emptied-others")
	if n := len(proxy.Changes("CloneVM_Task", "Destroy_Task")); n != 0 {
		t.Errorf("%d clones or destroys in a vCenter that is suddenly empty", n)
	}

	vcenter := &v1alpha1.VCenter{}
	if err := w.Hub.Get(ctx, key("", v.name), vcenter); err != nil {
		t.Fatal(err)
	}
	patch := `{"metadata":{"annotations":{"vm.codeconnect.vmworld.com/accept-empty-inventory":"` + vcenter.Status.InstanceUUID + `"}}}`
	if err := w.Hub.Patch(ctx, vcenter, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	p.untilRunning("vg", 4)
}

func TestOutageAPartialInventoryIsNotBelieved(t *testing.T) {
	w := calm.enter(t)
	sameManager(t, w)
	v := newVCenter(t, w, "partial", func(s *v1alpha1.VCenterSpec) {
		s.Inventory = v1alpha1.Inventory{Mode: v1alpha1.InventoryPoll, PollSeconds: 1}
	})
	p := newPlace(t, w, "team-a", "partial")
	p.apply(p.group("vg", 3, v.of))
	p.apply(p.group("goes", 2, v.of))
	before := p.untilRunning("vg", 3)
	p.untilRunning("goes", 2)

	// Listings lack an existing VM, as while a host reconnects.
	hidden := before.Status.VMs[1].MoRef
	object := regexp.MustCompile(`(?s)<objects><obj type="VirtualMachine">` + hidden + `</obj>.*?</objects>`)
	var lacking atomic.Int64
	v.proxy.Reset()
	v.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if c.Method != "RetrievePropertiesEx" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Edit: func(answer []byte) []byte {
			// A look-up of the one VM finds it.
			if bytes.Count(answer, []byte("<objects>")) > 1 && object.Match(answer) {
				lacking.Add(1)
				return object.ReplaceAll(answer, nil)
			}
			return answer
		}}
	})
	t.Cleanup(func() { v.proxy.Hook(nil) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, "three listings that lack a VM", func(context.Context) (bool, error) {
		return lacking.Load() >= 3, nil
	}); err != nil {
		t.Fatal(err)
	}
	v.unchanged("while listings lack a VM")

	// Listings break off in the middle.
	v.proxy.Hook(func(c sim.Call) faultproxy.Fault {
		if strings.HasPrefix(c.Method, "Retrieve") || strings.HasPrefix(c.Method, "Continue") {
			return faultproxy.Fault{Act: faultproxy.Truncate}
		}
		return faultproxy.Fault{}
	})
	v.untilSays(v1alpha1.ConditionReady, "False", "")
	p.patch("vg", `{"spec":{"replicas":2}}`)
	p.delete("goes")
	p.until("the group to say that its VMs are not known", "vg", func(g *v1alpha1.VmGroup) bool { return !stack.IsReady(g.Status.Conditions) })
	othersAreServed(t, w, "team-b", "partial-others")
	v.unchanged("while listings break off")

	v.proxy.Hook(nil)
	after := p.untilRunning("vg", 2)
	p.untilGone("goes")
	untilVCenterHolds(t, w, "/DC0/vm/partial", 2)
	if after.Status.VMs[0].MoRef != before.Status.VMs[0].MoRef || after.Status.VMs[1].MoRef != before.Status.VMs[1].MoRef {
		t.Errorf("VMs were replaced: %+v, were %+v", after.Status.VMs, before.Status.VMs)
	}
	v.oneSession()
}
