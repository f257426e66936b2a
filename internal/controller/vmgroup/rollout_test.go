package vmgroup

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// rolls is a group of this many VMs, in a vCenter that has a second template.
func rolls(t *testing.T, replicas int32) *rig {
	t.Helper()
	r := newRig(t)
	r.vcenter.AddTemplate(vsphere.Template{Name: "debian-13"})
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = replicas })
	r.settle()
	r.vcenter.ClearJournal()
	return r
}

// watched runs passes until the group reports that it is up to date, and calls see after each with the VMs in vCenter.
func (r *rig) watched(passes int, see func(vms []vsphere.VM)) *v1alpha1.VmGroup {
	r.t.Helper()
	for range passes {
		r.mustPass()
		if see != nil {
			see(r.vcenter.VMs())
		}
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
		g := r.group()
		if g.Status.Phase == v1alpha1.PhaseRunning && !meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionUpToDate) && seems(g) {
			r.t.Fatalf("it reads RUNNING while an edit has not reached its VMs: %s", words(g.Status.Conditions))
		}
		if meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionUpToDate) && meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionReady) {
			return g
		}
	}
	r.t.Fatalf("not up to date after %d passes: %s", passes, words(r.group().Status.Conditions))
	return nil
}

// seems reports whether a group shows that its update is not on hold.
func seems(g *v1alpha1.VmGroup) bool {
	switch meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionUpToDate).Reason {
	case v1alpha1.ReasonNotStarted, v1alpha1.ReasonRolloutPaused, v1alpha1.ReasonRestartPending:
		return false
	}
	return !g.Spec.Paused
}

// are are the names of the VMs with a revision, in order.
func (r *rig) are(revision string) (names []string) {
	for _, vm := range r.vcenter.VMs() {
		if vm.Stamp != nil && vm.Stamp.Revision == revision {
			names = append(names, vm.Name)
		}
	}
	slices.Sort(names)
	return names
}

func withTemplate(name string) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.Template = name }
}

func TestAnEditReachesAllVMsOneAfterTheOther(t *testing.T) {
	for story, c := range map[string]struct {
		strategy    *v1alpha1.UpdateStrategy
		least, most int
	}{
		"as it comes":        {nil, 3, 4},
		"without more VMs":   {&v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))}, 2, 3},
		"in percentages":     {&v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromString("50%")), MaxUnavailable: new(intstr.FromString("10%"))}, 3, 5},
		"both round to none": {&v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromString("0%")), MaxUnavailable: new(intstr.FromString("10%"))}, 2, 3},
	} {
		t.Run(story, func(t *testing.T) {
			r := rolls(t, 3)
			old := r.group().Status.UpdateRevision
			r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template, s.UpdateStrategy = "debian-13", c.strategy })
			begun, replaced := false, r.destroyed(v1alpha1.LocalMember, "replacement")
			g := r.watched(60, func(vms []vsphere.VM) {
				on := 0
				for _, vm := range vms {
					if vm.Power == vsphere.PoweredOn {
						on++
					}
				}
				if on < c.least || len(vms) > c.most {
					t.Fatalf("%d of %d VMs are on; want at least %d, and no more than %d VMs", on, len(vms), c.least, c.most)
				}
				rollout := r.group().Status.Rollout
				begun = begun || rollout != nil && slices.Equal(rollout.From, []string{old}) && rollout.StartTime != nil
			})
			if left := r.are(old); len(left) > 0 || len(r.vcenter.VMs()) != 3 || !begun {
				t.Errorf("of the old revision are left %v, of %d VMs; recorded was %v", left, len(r.vcenter.VMs()), begun)
			}
			if n := r.destroyed(v1alpha1.LocalMember, "replacement") - replaced; n != 3 {
				t.Errorf("%v VMs are counted as replaced", n)
			}
			if s := g.Status; s.UpdatedReplicas != 3 || s.Rollout.Revision != s.UpdateRevision || len(s.Rollout.From) != 0 || s.CurrentRevision != s.UpdateRevision || s.LastMessage != "successfully reconciled VmGroup" {
				t.Errorf("in the end: %+v, %s", s.Rollout, s.LastMessage)
			}
			r.vcenter.ClearJournal()
			r.now = r.now.Add(time.Hour)
			before := r.group().ResourceVersion
			if r.mustPass(); len(r.vcenter.Journal()) > 0 || r.group().ResourceVersion != before {
				t.Errorf("afterwards: %v", r.vcenter.Journal())
			}
		})
	}
}

// The next actions of an update are stored before any request to vCenter.
func TestAnUpdateIsRecordedBeforeItsFirstStep(t *testing.T) {
	r := rolls(t, 2)
	r.edit(withTemplate("debian-13"))
	r.memory.change(r.object(), func(m *remembered) { m.reported = r.now }) // a report was written just now
	r.onStatus = func() error {
		if calls := r.vcenter.Journal(); len(calls) != 0 {
			t.Errorf("before it was recorded: %v", calls)
		}
		return nil
	}
	r.mustPass()
	if g := r.group(); len(r.vcenter.Calls(vsphere.OpClone)) != 1 || g.Status.Rollout == nil || len(g.Status.Rollout.From) != 1 || len(g.Status.Revisions) != 2 {
		t.Errorf("clones %v; recorded %+v, %+v", r.vcenter.Calls(vsphere.OpClone), g.Status.Rollout, g.Status.Revisions)
	}
}

func TestAnUpdateGoesOnInOtherHands(t *testing.T) {
	r := rolls(t, 3)
	old := r.group().Status.UpdateRevision
	r.edit(withTemplate("debian-13"))
	for i := range 40 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
		r.memory = memory{} // of another replica
		r.gate.epoch.Number = int64(i + 1)
		if n := len(r.vcenter.VMs()); n < 3 || n > 4 {
			t.Fatalf("%d VMs after %d passes", n, i)
		}
	}
	if left := r.are(old); len(left) > 0 || len(r.vcenter.VMs()) != 3 {
		t.Errorf("left are %v of %d VMs: %s", left, len(r.vcenter.VMs()), words(r.group().Status.Conditions))
	}
}

// untouched reports the changes to VMs, for a group that must be left unchanged.
func (r *rig) untouched(story string) {
	r.t.Helper()
	r.vcenter.ClearJournal()
	for range 8 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(time.Minute)
	}
	if calls := r.vcenter.Journal(); len(calls) > 0 {
		r.t.Errorf("%s: %v", story, calls)
	}
}

func (r *rig) setStatus(change func(*v1alpha1.VmGroup)) {
	r.t.Helper()
	g := r.group()
	change(g)
	if err := r.member.Status().Update(r.t.Context(), g); err != nil {
		r.t.Fatal(err)
	}
}

// outdated is a group whose VMs have another revision than spec, without an observed edit.
func outdated(t *testing.T) *rig {
	t.Helper()
	r := rolls(t, 3)
	r.edit(withTemplate("debian-13"))
	r.setStatus(func(g *v1alpha1.VmGroup) {
		g.Status.ObservedGeneration, g.Status.Rollout = g.Generation, &v1alpha1.Rollout{Revision: plan.Revision(g.Spec)}
	})
	return r
}

func TestNothingButAnEditUpdatesVMs(t *testing.T) {
	for story, change := range map[string]func(r *rig){
		"a backup of before the last edit": func(*rig) {},
		"an upgrade from a version without updates": func(r *rig) {
			r.setStatus(func(g *v1alpha1.VmGroup) { g.Status.Rollout, g.Status.Revisions = nil, nil })
		},
		"an upgrade, and an edit that the older version has seen": func(r *rig) {
			r.setStatus(func(g *v1alpha1.VmGroup) { g.Status.Rollout.Revision = "1-0000000000" })
		},
		"an edit while the older version ran": func(r *rig) {
			r.setStatus(func(g *v1alpha1.VmGroup) { g.Status.Rollout = nil })
			r.edit(func(s *v1alpha1.VmGroupSpec) { s.Memory = 2 })
		},
		"a status that was wiped": func(r *rig) {
			r.setStatus(func(g *v1alpha1.VmGroup) { g.Status = v1alpha1.VmGroupStatus{} })
		},
		"a status of which the generation was wiped": func(r *rig) {
			r.setStatus(func(g *v1alpha1.VmGroup) {
				g.Status.ObservedGeneration, g.Status.Rollout.Revision = 0, "1-0000000000"
			})
		},
		"a status of a later generation": func(r *rig) {
			r.setStatus(func(g *v1alpha1.VmGroup) {
				g.Status.ObservedGeneration, g.Status.Rollout.Revision = g.Generation+5, "1-0000000000"
			})
		},
		"a change of how updates go": func(r *rig) {
			r.mustPass()
			r.edit(func(s *v1alpha1.VmGroupSpec) {
				s.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeRecreate}
			})
		},
	} {
		t.Run(story, func(t *testing.T) {
			r := outdated(t)
			change(r)
			r.untouched(story)
			g := r.group()
			message := says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonNotStarted)
			if g.Status.Phase != v1alpha1.PhaseRunning || !strings.HasPrefix(message, g.Status.LastMessage) || !strings.Contains(message, "replaceTrigger") {
				t.Errorf("%s, %s: %s", g.Status.Phase, g.Status.LastMessage, message)
			}
			// The command in the message starts it.
			r.edit(func(s *v1alpha1.VmGroupSpec) {
				s.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: "now"}
			})
			r.watched(60, nil)
			if names := r.are(r.group().Status.UpdateRevision); len(names) != 3 || len(r.vcenter.VMs()) != 3 {
				t.Errorf("updated are %v of %d VMs", names, len(r.vcenter.VMs()))
			}
		})
	}
}

// A policy that forbids the spec stops an update where it is, and one that allows it again lets it continue.
func TestAPolicyStartsNoUpdateAndStopsOne(t *testing.T) {
	r := rolls(t, 3)
	old := r.group().Status.UpdateRevision
	r.edit(withTemplate("debian-13"))
	for len(r.are(plan.Revision(r.group().Spec))) == 0 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
	}
	r.setPolicy(onlyTemplates("debian-12"))
	r.work() // existing VMs are started
	r.untouched("a policy that was tightened")
	g := r.group()
	if g.Status.Phase == v1alpha1.PhaseRunning || len(r.are(old)) != 3 {
		t.Errorf("%s, and of the old revision are %v: %s", g.Status.Phase, r.are(old), words(g.Status.Conditions))
	}
	// An undo is not refused: existing VMs are unchanged, and no VM of the forbidden kind is cloned.
	r.setPolicy(onlyTemplates("debian-1*"))
	r.watched(60, nil)
	if len(r.are(old)) > 0 {
		t.Errorf("the update did not continue, VMs of the old revision: %v", r.are(old))
	}
	r.setPolicy(onlyTemplates("debian-13"))
	r.untouched("a policy that forbids the revision of before")
	says(t, r.group(), v1alpha1.ConditionUpToDate, "True", v1alpha1.ReasonUpToDate)
}

func TestAnUndoGoesBackToWhatTheVMsWere(t *testing.T) {
	r := rolls(t, 4)
	old := r.group().Status.UpdateRevision
	kept := map[string]bool{}
	r.edit(withTemplate("debian-13"))
	for len(r.are(old)) > 2 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
	}
	for _, vm := range r.vcenter.VMs() {
		if vm.Stamp.Revision == old {
			kept[vm.Ref.Value] = true
		}
	}
	r.edit(withTemplate("debian-12"))
	r.watched(60, nil)
	for _, vm := range r.vcenter.VMs() {
		if delete(kept, vm.Ref.Value); vm.Stamp.Revision != old {
			t.Errorf("%s has revision %s, want %s", vm.Name, vm.Stamp.Revision, old)
		}
	}
	if n := len(r.vcenter.VMs()); n != 4 || len(kept) > 1 { // one can have been about to be removed
		t.Errorf("%d VMs; of those that were right, these have gone: %v", n, kept)
	}
}

func TestAnUpdateWaitsForQuota(t *testing.T) {
	r := rolls(t, 3)
	limit := int32(3)
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{VMs: &limit, Scope: v1alpha1.QuotaNamespace}})
	store := &quotatest.Store{}
	ledger := r.ledgerOf(r.Reconciler, store)
	rounds := func(n int) {
		for range n {
			r.inform(r.Reconciler)
			r.mustPass()
			flush(t, ledger)
			r.vcenter.Finish(-1)
			r.now = r.now.Add(2 * time.Second)
			if n := len(r.vcenter.VMs()); n > int(limit) {
				t.Fatalf("%d VMs with a quota of %d", n, limit)
			}
		}
	}
	rounds(4)
	old := r.group().Status.UpdateRevision
	r.edit(withTemplate("debian-13"))
	rounds(8)
	g := r.group()
	message := says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonWaitingForQuota)
	if g.Status.Phase != v1alpha1.PhasePending || !strings.Contains(message, "quota of 3 VMs") || len(r.are(old)) != 3 {
		t.Errorf("%s with %v: %s", g.Status.Phase, r.are(old), message)
	}
	says(t, g, v1alpha1.ConditionPolicyCompliant, "True", v1alpha1.ReasonPolicyAllows)
	// Waiting costs nothing.
	before, reads := r.group().ResourceVersion, 0
	_, writes := store.Requests()
	for range 5 {
		r.mustPass()
		flush(t, ledger)
	}
	if reads, writes = func() (int, int) { a, b := store.Requests(); return a, b - writes }(); writes != 0 || r.group().ResourceVersion != before {
		t.Errorf("while it waits: %d writes of the ledger (%d reads), version %s and %s", writes, reads, before, r.group().ResourceVersion)
	}
	limit = 4
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{VMs: &limit, Scope: v1alpha1.QuotaNamespace}})
	rounds(60)
	says(t, r.group(), v1alpha1.ConditionUpToDate, "True", v1alpha1.ReasonUpToDate)
	if used := store.Entries()[localKey(r.group().UID)].Usage.VMs; used != 3 || len(r.are(old)) > 0 {
		t.Errorf("afterwards the ledger has %d VMs, and of the old revision are %v", used, r.are(old))
	}
}

func TestAVMOfAnOlderRevisionComesBackAsItWas(t *testing.T) {
	r := rolls(t, 3)
	old := r.group().Status.UpdateRevision
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.CPU, s.UpdateStrategy = "debian-13", 2, &v1alpha1.UpdateStrategy{Paused: true}
	})
	r.work()
	r.vcenter.ByHand().Delete("web-1")
	g := r.work()
	if vm := r.vm("web-1"); vm == nil || vm.Stamp.Revision != old || vm.CPU != 1 || len(r.vcenter.VMs()) != 3 {
		t.Fatalf("the lost VM came back as %+v", vm)
	}
	if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != 1 {
		t.Errorf("clones: %v", calls)
	}
	if message := says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonRolloutPaused); g.Status.Phase != v1alpha1.PhaseRunning || !strings.HasPrefix(message, g.Status.LastMessage) {
		t.Errorf("%s: %s", g.Status.Phase, g.Status.LastMessage)
	}
	// A shape that grants, policies or vCenter refuse is not cloned.
	r.vcenter.RemoveTemplate("debian-12")
	r.vcenter.ByHand().Delete("web-2")
	g = r.work()
	ready := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionReady).Message
	if n := len(r.vcenter.VMs()); n != 2 || !strings.Contains(ready, old) || !strings.Contains(g.Status.LastMessage, "debian-12") {
		t.Errorf("%d VMs: %s; %s", n, g.Status.LastMessage, ready)
	}
}

// The previous template was deleted, and spec is corrected: the group continues, whatever it lacks.
func TestAGroupGoesOnOnceItsMissingTemplateIsReplaced(t *testing.T) {
	for story, c := range map[string]struct {
		replicas int32
		lost     []string
		more     int32
	}{
		"and it is scaled up": {2, nil, 1}, "its only VM is lost": {1, []string{"web-0"}, 0}, "all of its VMs are lost": {2, []string{"web-0", "web-1"}, 0},
	} {
		t.Run(story, func(t *testing.T) {
			r := rolls(t, c.replicas)
			r.vcenter.RemoveTemplate("debian-12")
			for _, name := range c.lost {
				r.vcenter.ByHand().Delete(name)
			}
			if len(c.lost) > 0 {
				says(t, r.work(), v1alpha1.ConditionStalled, "True", v1alpha1.ReasonTemplateNotFound)
			}
			r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template, *s.Replicas = "debian-13", c.replicas+c.more })
			r.watched(60, nil)
			if names := r.are(r.group().Status.UpdateRevision); len(names) != int(c.replicas+c.more) || len(r.vcenter.VMs()) != len(names) {
				t.Errorf("updated are %v of %d VMs", names, len(r.vcenter.VMs()))
			}
		})
	}
}

func TestAShapeThatIsForgedIsNotCloned(t *testing.T) {
	r := rolls(t, 2)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.UpdateStrategy = "debian-13", &v1alpha1.UpdateStrategy{Paused: true}
	})
	r.work()
	r.setStatus(func(g *v1alpha1.VmGroup) {
		for i := range g.Status.Revisions {
			g.Status.Revisions[i].CPU = 64
		}
	})
	r.vcenter.ByHand().Delete("web-1")
	r.work()
	for _, vm := range r.vcenter.VMs() {
		if vm.CPU != 1 {
			t.Errorf("%s has %d CPUs", vm.Name, vm.CPU)
		}
	}
}

// A policy checks an older shape before it is cloned again, even if spec is allowed now.
func TestAnOlderShapeThatAPolicyForbidsIsNotCloned(t *testing.T) {
	r := rolls(t, 2)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.UpdateStrategy = "debian-13", &v1alpha1.UpdateStrategy{Paused: true}
	})
	r.work()
	r.setPolicy(onlyTemplates("debian-13"))
	r.vcenter.ByHand().Delete("web-1")
	g := r.work()
	if vm := r.vm("web-1"); vm != nil || !strings.Contains(g.Status.LastMessage, "onlyTemplates") && !strings.Contains(g.Status.LastMessage, "matches none of the templates") {
		t.Errorf("the lost VM came back as %+v: %s", vm, g.Status.LastMessage)
	}
	r.setPolicy(onlyTemplates("debian-1*"))
	if r.work(); r.vm("web-1") == nil {
		t.Error("it does not come back once the policy allows it")
	}
}

func TestAPausedGroupIsNotUpdated(t *testing.T) {
	r := rolls(t, 2)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Template, s.Paused = "debian-13", true })
	r.untouched("a paused group")
	if g := r.group(); g.Status.Phase != v1alpha1.PhaseRunning || g.Status.LastMessage == "successfully reconciled VmGroup" {
		t.Errorf("%s: %s", g.Status.Phase, g.Status.LastMessage)
	}
	// The edit is not lost.
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Paused = false })
	r.watched(60, nil)
	if names := r.are(r.group().Status.UpdateRevision); len(names) != 2 {
		t.Errorf("updated are %v", names)
	}
}

func TestAnEditDuringAnOutageIsNotLost(t *testing.T) {
	r := rolls(t, 2)
	r.vcenter.Disconnect(nil)
	for range 4 {
		r.mustPass()
		r.now = r.now.Add(time.Minute)
	}
	r.edit(withTemplate("debian-13"))
	for range 4 {
		r.mustPass()
		r.now = r.now.Add(time.Minute)
	}
	if g := r.group(); g.Status.ObservedGeneration != g.Generation || g.Status.Rollout == nil || len(g.Status.Rollout.From) != 1 {
		t.Errorf("status of generation %d of %d records %+v", g.Status.ObservedGeneration, g.Generation, g.Status.Rollout)
	}
	r.vcenter.Reconnect()
	r.watched(60, nil)
	if names := r.are(r.group().Status.UpdateRevision); len(names) != 2 {
		t.Errorf("updated are %v", names)
	}
}

func TestAGroupThatIsDeletedDuringAnUpdateGoes(t *testing.T) {
	r := rolls(t, 3)
	r.edit(withTemplate("debian-13"))
	r.rounds(5)
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	r.rounds(14)
	if vms := r.vcenter.VMs(); len(vms) > 0 {
		t.Errorf("left are %v", vms)
	}
}

// A guest that never boots stops the update: the old VMs keep running.
func TestAnUpdateWhoseVMsFailStopsAndIsUndone(t *testing.T) {
	r := rolls(t, 3)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat, StartupTimeoutSeconds: 30}
	})
	r.settle()
	old := r.group().Status.UpdateRevision
	r.edit(withTemplate("debian-13"))
	for range 40 {
		r.mustPass()
		r.vcenter.Finish(-1)
		for _, vm := range r.vcenter.VMs() {
			if vm.Stamp.Revision != old && vm.HeartbeatGreen {
				r.vcenter.ByHand().Edit(vm.Name, func(vm *vsphere.VM) { vm.HeartbeatGreen = false })
			}
		}
		r.now = r.now.Add(2 * time.Second)
	}
	g := r.group()
	says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonRolloutStopped)
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonRolloutStopped)
	if len(r.are(old)) != 3 || len(r.vcenter.VMs()) != 4 || g.Status.Phase != v1alpha1.PhaseError || len(g.Status.Rollout.Failed) != 1 {
		t.Fatalf("%s with %v of %d VMs, failed %v", g.Status.Phase, r.are(old), len(r.vcenter.VMs()), g.Status.Rollout.Failed)
	}
	r.edit(withTemplate("debian-12"))
	r.watched(30, nil)
	if len(r.are(old)) != 3 || len(r.vcenter.VMs()) != 3 {
		t.Errorf("undone: %v of %d VMs", r.are(old), len(r.vcenter.VMs()))
	}
}

// asked counts the requests to vCenter, by kind.
func (r *rig) asked() map[vsphere.OperationKind]int {
	count := map[vsphere.OperationKind]int{}
	for _, e := range r.vcenter.Journal() {
		count[e.Kind]++
	}
	return count
}

// hot is a group whose VMs support hot-add, or do not.
func hot(t *testing.T, can bool, replicas int32) *rig {
	t.Helper()
	r := rolls(t, replicas)
	for _, vm := range r.vcenter.VMs() {
		r.vcenter.ByHand().Edit(vm.Name, func(vm *vsphere.VM) {
			vm.HotAdd = vsphere.HotAdd{CPU: can, Memory: can, MemoryLimitMiB: 1 << 20, MemoryStepMiB: 1}
		})
	}
	r.settle()
	r.vcenter.ClearJournal()
	return r
}

func larger(s *v1alpha1.VmGroupSpec) { s.CPU, s.Memory = 2, 2 }

func TestAVMThatCanGrowWhileItRunsIsChangedInOneStep(t *testing.T) {
	r := hot(t, true, 3)
	r.edit(larger)
	r.watched(20, nil)
	if got := r.asked(); got[vsphere.OpReconfigure] != 3 || len(got) != 1 {
		t.Errorf("asked: %v", got)
	}
	for _, vm := range r.vcenter.VMs() {
		if vm.CPU != 2 || vm.MemoryMiB != 2048 || vm.Stamp.Revision != r.group().Status.UpdateRevision {
			t.Errorf("%s has %d CPUs, %d MiB and revision %s", vm.Name, vm.CPU, vm.MemoryMiB, vm.Stamp.Revision)
		}
	}
}

func TestAVMThatCannotGrowWhileItRunsIsRestarted(t *testing.T) {
	r := hot(t, false, 3)
	r.edit(larger)
	r.watched(80, func(vms []vsphere.VM) {
		on := 0
		for _, vm := range vms {
			if vm.Power == vsphere.PoweredOn {
				on++
			}
		}
		if on < 3 || len(vms) > 4 {
			t.Fatalf("%d of %d VMs are on", on, len(vms))
		}
	})
	if got := r.asked(); got[vsphere.OpReconfigure] != 3 || got[vsphere.OpClone] != 1 || got[vsphere.OpDestroy] != 1 || len(r.vcenter.VMs()) != 3 {
		t.Errorf("asked: %v; %d VMs", got, len(r.vcenter.VMs()))
	}
}

func TestAVMThatNobodyShallRestartWaitsUntilItIsOff(t *testing.T) {
	r := hot(t, false, 2)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		larger(s)
		s.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot}
	})
	r.untouched("VMs that would have to be restarted")
	g := r.group()
	says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonRestartPending)
	if g.Status.Phase != v1alpha1.PhaseRunning || !g.Status.VMs[0].RestartPending {
		t.Errorf("%s, %+v", g.Status.Phase, g.Status.VMs)
	}
	r.vcenter.ByHand().PowerOff("web-0")
	r.vcenter.ByHand().PowerOff("web-1")
	r.watched(20, nil)
	if got := r.asked(); got[vsphere.OpReconfigure] != 2 || got[vsphere.OpClone] != 0 {
		t.Errorf("asked: %v", got)
	}
}

func TestAResizeThatIsSmallerAsksForNoMoreQuotaThanTheVMsHave(t *testing.T) {
	r := rolls(t, 1)
	r.setPolicy(maxCPU(16))
	r.edit(larger)
	r.watched(80, nil)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Memory = 1, 1 })
	r.watched(80, nil)
	if vm := r.vcenter.VMs()[0]; vm.CPU != 1 || vm.MemoryMiB != 1024 {
		t.Errorf("it has %d CPUs and %d MiB", vm.CPU, vm.MemoryMiB)
	}
}

func TestAVMGetsAnotherNetworkWhileItRuns(t *testing.T) {
	r := rolls(t, 2)
	r.vcenter.AddPlace(fake.Network, "/DC0/network/dmz")
	var vc v1alpha1.VCenter
	if err := r.hub.Get(t.Context(), client.ObjectKey{Name: "default"}, &vc); err != nil {
		t.Fatal(err)
	}
	vc.Spec.Grants = []v1alpha1.Grant{{MemberClusters: []string{"*"}, Templates: []string{"*"}, Networks: []string{"*"}}}
	if err := r.hub.Update(t.Context(), &vc); err != nil {
		t.Fatal(err)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: "dmz"} })
	r.watched(20, nil)
	if got := r.asked(); got[vsphere.OpReconfigure] != 2 || len(got) != 1 {
		t.Errorf("asked: %v", got)
	}
}

func TestGuestsAreToldWhoTheyAre(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.Guest = &v1alpha1.Guest{Hostname: v1alpha1.GuestHostnameName, Metadata: map[string]string{"role": "web"}}
	})
	r.settle()
	before := r.group().Status.UpdateRevision
	info := r.vcenter.GuestInfo("web-1")[vsphere.GuestMetadata]
	if text, err := base64.StdEncoding.DecodeString(info); err != nil || !strings.Contains(string(text), `"local-hostname":"web-1"`) || !strings.Contains(string(text), `"role":"web"`) {
		t.Errorf("guest metadata of web-1 is %s (%v)", text, err)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Guest = nil })
	r.untouched("the guest metadata is changed")
	if after := r.group().Status.UpdateRevision; after != before {
		t.Errorf("the guest metadata changes the revision to %s from %s", after, before)
	}
}

// An update of many old groups at once is no mass deletion, from its beginning to its last removed VM. Others can still be deleted.
func TestAnUpdateOfManyGroupsIsNoMassDeletion(t *testing.T) {
	for story, change := range map[string]func(*v1alpha1.VmGroupSpec){"VMs are replaced": withTemplate("debian-13"), "VMs are restarted": larger} {
		t.Run(story, func(t *testing.T) {
			h := newHerd(t, 24, 1)
			h.vcenter.AddTemplate(vsphere.Template{Name: "debian-13"})
			for _, name := range h.names[4:] {
				g := h.look(name)
				change(&g.Spec)
				g.Generation++
				if err := h.member.Update(t.Context(), g); err != nil {
					t.Fatal(err)
				}
			}
			target := plan.Revision(h.look(h.names[4]).Spec)
			for rounds := 0; rounds < 40 && (len(h.are(target)) < 20 || len(h.vcenter.VMs()) > 24); rounds++ {
				h.passes()
				h.now = h.now.Add(2 * time.Second)
				for _, name := range h.names {
					if c := meta.FindStatusCondition(h.look(name).Status.Conditions, v1alpha1.ConditionStalled); c != nil {
						t.Fatalf("%s: %s: %s", name, c.Reason, c.Message)
					}
				}
			}
			if updated, all := h.are(target), h.vcenter.VMs(); len(updated) != 20 || len(all) != 24 {
				t.Fatalf("updated are %d of %d VMs", len(updated), len(all))
			}
			for _, name := range h.names[:4] {
				if err := h.member.Delete(t.Context(), h.look(name)); err != nil {
					t.Fatal(err)
				}
			}
			h.spend(30 * time.Second)
			if n := len(h.vcenter.VMs()); n != 20 {
				t.Errorf("%d VMs after four groups were deleted: what was replaced counts as removed", n)
			}
		})
	}
}

// Undoing an edit that a policy forbids by now adds no VM of it, and loses none.
func TestAnUndoUnderATightenedPolicyStopsTheUpdate(t *testing.T) {
	r := rolls(t, 3)
	old := r.group().Status.UpdateRevision
	r.edit(withTemplate("debian-13"))
	target := plan.Revision(r.group().Spec)
	for len(r.are(old)) > 2 || len(r.vcenter.VMs()) > 3 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.now = r.now.Add(2 * time.Second)
	}
	r.setPolicy(onlyTemplates("debian-13"))
	r.edit(withTemplate("debian-12"))
	r.work()
	r.untouched("an undo that a policy forbids")
	if len(r.are(old)) != 2 || len(r.are(target)) != 1 {
		t.Errorf("of the old revision are %v, of the new one %v", r.are(old), r.are(target))
	}
	g := r.group()
	says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonPolicyViolated)
	says(t, g, v1alpha1.ConditionUpToDate, "False", v1alpha1.ReasonRolloutPending)
	r.setPolicy(onlyTemplates("debian-1*"))
	r.watched(60, nil)
	if len(r.are(old)) != 3 {
		t.Errorf("once it is allowed: %v", r.are(old))
	}
}

func TestAGuestSaysThatItIsReady(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		*s.Replicas = 1
		s.Readiness = &v1alpha1.Readiness{GuestInfo: &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: "yes"}}
	})
	if g := r.work(); g.Status.ReadyReplicas != 0 || r.vm("web-0").Power != vsphere.PoweredOn {
		t.Fatalf("%d VMs are ready before the guest has said so: %s", g.Status.ReadyReplicas, words(g.Status.Conditions))
	}
	r.vcenter.ByHand().WriteGuestInfo("web-0", "guestinfo.ready", "yes")
	r.settle()
}

// Each VM gets the user data of its own revision, even if the Secret of another one was deleted.
func TestAVMOfAnOlderRevisionGetsItsOwnUserData(t *testing.T) {
	r := newRig(t)
	r.memberIs(func(m *fleet.Member) { m.UserDataSecrets = v1alpha1.UserDataAllow })
	for _, name := range []string{"one", "two"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Type: v1alpha1.UserDataType, Data: map[string][]byte{effect.UserDataKey: []byte("#" + name)}}
		if err := r.member.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "one"} })
	r.settle()
	r.edit(func(s *v1alpha1.VmGroupSpec) {
		s.UserDataSecretRef, s.UpdateStrategy = &v1alpha1.LocalObjectReference{Name: "two"}, &v1alpha1.UpdateStrategy{Paused: true}
	})
	r.work()
	r.vcenter.ByHand().Delete("web-1")
	r.work()
	told := func(name string) string {
		text, err := base64.StdEncoding.DecodeString(r.vcenter.GuestInfo(name)[vsphere.GuestUserData])
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	if got := told("web-1"); got != "#one" {
		t.Errorf("user data of the VM of the older revision is %q", got)
	}
	if err := r.member.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy = nil })
	r.watched(60, nil)
	for _, vm := range r.vcenter.VMs() {
		if got := told(vm.Name); got != "#two" {
			t.Errorf("user data of %s is %q", vm.Name, got)
		}
	}
}

// A VM that cannot be changed is not stopped for a change: otherwise it would stay off.
func TestNoVMIsStoppedForAChangeThatTheAccountMayNotMake(t *testing.T) {
	r := rolls(t, 2)
	r.vcenter.SetMissingPrivileges(vsphere.PrivilegeCPUs)
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU++ })
	r.rounds(10)
	for _, vm := range r.vcenter.VMs() {
		if vm.Power != vsphere.PoweredOn {
			t.Errorf("%s is %s", vm.Name, vm.Power)
		}
	}
	stalled := meta.FindStatusCondition(r.group().Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Reason != v1alpha1.ReasonPermissionDenied || !strings.Contains(stalled.Message, vsphere.PrivilegeCPUs) {
		t.Errorf("the group says %s", words(r.group().Status.Conditions))
	}
	r.vcenter.SetMissingPrivileges()
	r.now = r.now.Add(10 * time.Minute)
	r.watched(60, nil)
}
