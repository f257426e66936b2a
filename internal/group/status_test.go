package group

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// running are the facts of a group with two ready VMs.
func running() Facts {
	return Facts{
		Name: "vg-1", Generation: 4, Now: noon, Complete: true, VCenter: "default",
		Spec:      v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "t"},
		Folder:    &v1alpha1.FolderStatus{Path: "/DC/vm/vm-operator/a/b/vg-1.12345678", MoRef: "group-v1"},
		Admission: policy.Admission{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPolicyAllows, Message: "allowed"},
		Plan: plan.Plan{
			Desired: 2, Existing: 2, Ready: 2, Updated: 2, Settled: true,
			VMs: []plan.VMStatus{
				{Ordinal: 0, Name: "vg-1-0", MoRef: "vm-1", UUID: "u0", Phase: v1alpha1.VMReady, Revision: "1-a", ReadySince: noon, Available: true},
				{Ordinal: 1, Name: "vg-1-1", MoRef: "vm-2", UUID: "u1", Phase: v1alpha1.VMReady, Revision: "1-a", ReadySince: noon, Available: true},
			},
		},
	}
}

func TestStatusTellsTheStateOfAGroup(t *testing.T) {
	for _, c := range []struct {
		story   string
		change  func(*Facts)
		phase   v1alpha1.Phase
		message string
		ready   metav1.ConditionStatus
		reason  string
		present []string
		absent  []string
	}{
		{
			story: "all is well, in the original's words", change: func(*Facts) {},
			phase: v1alpha1.PhaseRunning, message: "successfully reconciled VmGroup", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
			absent: []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling, v1alpha1.ConditionForeignVMs},
		},
		{
			story: "deleting, with a guest that takes its time",
			change: func(f *Facts) {
				f.Deleting, f.Plan.Desired, f.Plan.Existing, f.Plan.Ready, f.Plan.Settled = true, 0, 0, 0, false
				f.Plan.VMs[1].ShutdownTime = noon
			},
			phase: v1alpha1.PhasePending, message: "deleting: 2 VMs are left; guests that are waited for: 1 (status.vms says until when; spec.shutdown.mode Hard",
			ready: "False", reason: v1alpha1.ReasonDeleting, present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "deleting, while a task hangs",
			change: func(f *Facts) {
				f.Deleting, f.Plan.Desired, f.Plan.Existing, f.Plan.Ready, f.Plan.Settled = true, 0, 0, 0, false
				f.Plan.VMs[1].Hangs = "its power-on runs in vCenter since 12:00 (task-77): check it"
			},
			phase: v1alpha1.PhasePending, message: "deleting: 2 VMs are left; vg-1-1: its power-on runs in vCenter since 12:00 (task-77): check it",
			ready: "False", reason: v1alpha1.ReasonDeleting, present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "repairing, while vCenter has not confirmed the deletion of the lost VM",
			change: func(f *Facts) {
				f.Plan.Existing, f.Plan.Ready, f.Plan.Repairing, f.Plan.Settled = 1, 1, true, false
				f.Plan.VMs[1] = plan.VMStatus{Ordinal: 1, Name: "vg-1-1", Phase: v1alpha1.VMCloning, Message: "vm-2, which it replaces, is being looked for in vCenter"}
			},
			phase:   v1alpha1.PhasePending,
			message: "1 of 2 VMs are ready; repairing what was changed outside of the operator; waiting for vg-1-1",
			ready:   "False", reason: v1alpha1.ReasonRepairing, present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "scaling up, while clones hang",
			change: func(f *Facts) {
				f.Plan.Desired, f.Plan.Settled = 5, false
				f.Plan.VMs[0].Hangs, f.Plan.VMs[1].Hangs = "its clone runs since 12:00 (task-7)", "its clone runs since 12:01 (task-8)"
			},
			phase: v1alpha1.PhasePending, message: "2 of 5 VMs are there; cloning the others; vg-1-0: its clone runs since 12:00 (task-7) (status.vms names 1 more)",
			ready: "False", reason: v1alpha1.ReasonScalingUp, present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "starting, while a task hangs, which is said once",
			change: func(f *Facts) {
				f.Plan.Ready, f.Plan.Settled = 1, false
				f.Plan.VMs[1].Hangs = "its change runs"
				vm := &f.Plan.VMs[0]
				vm.Available, vm.Phase, vm.Hangs, vm.Message = false, v1alpha1.VMStarting, "it hangs (task-7)", "refused; it hangs (task-7)"
			},
			phase: v1alpha1.PhasePending, message: "1 of 2 VMs are ready; vg-1-0: refused; it hangs (task-7) (status.vms names 1 more)",
			ready: "False", reason: v1alpha1.ReasonStarting, present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "what vCenter refuses, while a task hangs",
			change: func(f *Facts) {
				f.Deleting, f.Plan.Desired, f.Plan.Existing, f.Plan.Ready, f.Plan.Settled = true, 0, 0, 0, false
				f.Plan.Blockers = []plan.Blocker{{Reason: v1alpha1.ReasonOperationFailed, Message: "mark vg-1-1: another task runs."}}
				f.Plan.VMs[1].Hangs = "it waits for an answer"
			},
			phase: v1alpha1.PhasePending, message: "mark vg-1-1: another task runs; vg-1-1: it waits for an answer",
			ready: "False", reason: v1alpha1.ReasonOperationFailed, present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "what an update added waits for another VM",
			change: func(f *Facts) {
				f.Plan.Desired, f.Plan.Settled = 1, false
				f.Plan.Update = plan.Update{Reason: v1alpha1.ReasonUpToDate}
				f.Plan.VMs[1].Available, f.Plan.VMs[1].Phase = false, v1alpha1.VMUnhealthy
			},
			phase: v1alpha1.PhasePending, message: "1 VM is wanted, and there are 2: what the update added leaves once enough others are available; vg-1-1 is in phase Unhealthy",
			ready: "False", reason: v1alpha1.ReasonScalingDown, present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "scaling up",
			change: func(f *Facts) {
				f.Plan.Desired, f.Plan.Settled = 5, false
			},
			phase: v1alpha1.PhasePending, message: "2 of 5 VMs are there", ready: "False", reason: v1alpha1.ReasonScalingUp,
			present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "a missing template stalls, and its sentence is the message",
			change: func(f *Facts) {
				f.Plan.Desired, f.Plan.Settled = 3, false
				f.Plan.Blockers = []plan.Blocker{{Reason: v1alpha1.ReasonTemplateNotFound, Terminal: true, Message: `template "x" does not exist`}}
			},
			phase: v1alpha1.PhaseError, message: `template "x" does not exist`, ready: "False", reason: v1alpha1.ReasonTemplateNotFound,
			present: []string{v1alpha1.ConditionStalled}, absent: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "an outage keeps what was last known and claims nothing",
			change: func(f *Facts) {
				f.Old.VMs = []v1alpha1.VMStatus{{Name: "vg-1-0", MoRef: "vm-1"}, {Name: "vg-1-1", Ordinal: 1, MoRef: "vm-2"}}
				f.Old.Replicas = 2
				f.Complete, f.Unavailable = false, &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "VCenter cannot be reached"}
				f.Plan = plan.Plan{Desired: 2, Blockers: []plan.Blocker{{Reason: v1alpha1.ReasonInventoryIncomplete, Message: "incomplete"}}}
			},
			phase: v1alpha1.PhasePending, message: "VCenter cannot be reached", ready: "Unknown", reason: v1alpha1.ReasonVCenterUnreachable,
			absent: []string{v1alpha1.ConditionStalled},
		},
		{
			story: "a foreign VM does not make a running group unready",
			change: func(f *Facts) {
				f.Plan.Foreign = []plan.Foreign{{MoRef: "vm-9", Name: "vg-1-2", TakesName: true}}
				f.Plan.Blockers = []plan.Blocker{{Reason: v1alpha1.ReasonNameConflict, Message: "vg-1-2 is taken"}}
			},
			phase: v1alpha1.PhaseRunning, message: "2 of 2 VMs are ready; vg-1-2 is taken", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
			present: []string{v1alpha1.ConditionForeignVMs},
		},
		{
			story: "a complete group whose template is deleted has a warning",
			change: func(f *Facts) {
				f.CreateBlocked = &plan.Blocker{Reason: v1alpha1.ReasonTemplateNotFound, Message: `template "t" does not exist`}
			},
			phase: v1alpha1.PhaseRunning, message: `could not be replaced: template "t" does not exist`, ready: "True", reason: v1alpha1.ReasonAllVMsReady,
		},
		{
			story: "a group with outdated VMs and no edit has a warning",
			change: func(f *Facts) {
				f.Plan.Update = plan.Update{Reason: v1alpha1.ReasonNotStarted, Message: "0 of 2 updated"}
			},
			phase: v1alpha1.PhaseRunning, message: "2 of 2 VMs are ready, but not all are as spec says: 0 of 2 updated", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
		},
		{
			story:  "an edit that is about to reach the VMs",
			change: func(f *Facts) { updating(f, v1alpha1.ReasonRolloutProgressing) },
			phase:  v1alpha1.PhasePending, message: "1 of 2 updated", ready: "False", reason: v1alpha1.ReasonRolloutProgressing,
			present: []string{v1alpha1.ConditionReconciling}, absent: []string{v1alpha1.ConditionStalled},
		},
		{
			story:  "an edit for which there is no quota",
			change: func(f *Facts) { updating(f, v1alpha1.ReasonWaitingForQuota) },
			phase:  v1alpha1.PhasePending, message: "1 of 2 updated", ready: "False", reason: v1alpha1.ReasonWaitingForQuota,
			present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story:  "an edit that spec is not allowed to make",
			change: func(f *Facts) { updating(f, v1alpha1.ReasonRolloutPending) },
			phase:  v1alpha1.PhasePending, message: "1 of 2 updated", ready: "False", reason: v1alpha1.ReasonRolloutPending,
			present: []string{v1alpha1.ConditionReconciling},
		},
		{
			story:  "an edit that made VMs fail",
			change: func(f *Facts) { updating(f, v1alpha1.ReasonRolloutStopped) },
			phase:  v1alpha1.PhaseError, message: "1 of 2 updated", ready: "False", reason: v1alpha1.ReasonRolloutStopped,
			present: []string{v1alpha1.ConditionStalled}, absent: []string{v1alpha1.ConditionReconciling},
		},
		{
			story:  "an edit that would destroy VMs that are to be retained",
			change: func(f *Facts) { updating(f, v1alpha1.ReasonRetainForbidsReplacement) },
			phase:  v1alpha1.PhaseError, message: "1 of 2 updated", ready: "False", reason: v1alpha1.ReasonRetainForbidsReplacement,
			present: []string{v1alpha1.ConditionStalled},
		},
		{
			story: "people bring the edit to the VMs",
			change: func(f *Facts) {
				updating(f, v1alpha1.ReasonRolloutPending)
				f.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
			},
			phase: v1alpha1.PhaseRunning, message: "1 of 2 updated", ready: "True", reason: v1alpha1.ReasonAllVMsReady, absent: []string{v1alpha1.ConditionReconciling},
		},
		{
			story: "an update that was paused half-way, with a VM more than is wanted",
			change: func(f *Facts) {
				updating(f, v1alpha1.ReasonRolloutPaused)
				f.Plan.Existing, f.Plan.Ready, f.Plan.Surge = 3, 3, 1
			},
			phase: v1alpha1.PhaseRunning, message: "2 of 2 VMs are ready, but not all are as spec says: 1 of 2 updated", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
		},
		{
			story:  "VMs that need a restart, which the operator does not perform",
			change: func(f *Facts) { updating(f, v1alpha1.ReasonRestartPending) },
			phase:  v1alpha1.PhaseRunning, message: "1 of 2 updated", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
		},
		{
			story: "a paused group that an edit has not reached",
			change: func(f *Facts) {
				updating(f, v1alpha1.ReasonRolloutProgressing)
				f.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true"}
				f.Plan.Blockers = []plan.Blocker{*f.Paused}
			},
			phase: v1alpha1.PhaseRunning, message: "spec.paused is true", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
		},
		{
			story: "an update that began after another change counts from its own start",
			change: func(f *Facts) {
				updating(f, v1alpha1.ReasonRolloutProgressing)
				f.Spec.Readiness = &v1alpha1.Readiness{ProgressDeadlineSeconds: 60}
				f.Rollout = &plan.Rollout{Revision: "b", From: []string{"a"}, Start: noon.Add(-time.Second)}
				f.Old.Conditions = []metav1.Condition{{
					Type: v1alpha1.ConditionReconciling, Status: "True", Reason: "x", LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
				}}
			},
			phase: v1alpha1.PhasePending, message: "1 of 2 updated", ready: "False", reason: v1alpha1.ReasonRolloutProgressing, absent: []string{v1alpha1.ConditionStalled},
		},
		{
			story: "an update slower than the deadline",
			change: func(f *Facts) {
				updating(f, v1alpha1.ReasonRolloutProgressing)
				f.Spec.Readiness = &v1alpha1.Readiness{ProgressDeadlineSeconds: 60}
				f.Rollout = &plan.Rollout{Revision: "b", From: []string{"a"}, Start: noon.Add(-time.Minute)}
				f.Old.Conditions = []metav1.Condition{{
					Type: v1alpha1.ConditionReconciling, Status: "True", Reason: "x", LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
				}}
			},
			phase: v1alpha1.PhaseError, message: "progressDeadlineSeconds (60 s): 1 of 2 updated", ready: "False", reason: v1alpha1.ReasonRolloutProgressing,
			present: []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling},
		},
		{
			story: "a paused group says so, however well it is",
			change: func(f *Facts) {
				f.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true"}
				f.Plan.Blockers = []plan.Blocker{*f.Paused}
			},
			phase: v1alpha1.PhaseRunning, message: "2 of 2 VMs are ready; spec.paused is true", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
			present: []string{v1alpha1.ConditionPaused},
		},
		{
			story: "a resumed group is not paused any more",
			change: func(f *Facts) {
				f.Old.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionPaused, Status: "True", Reason: v1alpha1.ReasonPaused}}
			},
			phase: v1alpha1.PhaseRunning, message: "successfully", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
			absent: []string{v1alpha1.ConditionPaused},
		},
		{
			story: "a grant that was taken away is reported while the VMs run on",
			change: func(f *Facts) {
				f.Admission.Status, f.Admission.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotGranted
			},
			phase: v1alpha1.PhaseRunning, message: "successfully", ready: "True", reason: v1alpha1.ReasonAllVMsReady,
		},
		{
			story: "deleting",
			change: func(f *Facts) {
				f.Deleting, f.Plan.Settled = true, false
				f.Plan.Desired, f.Plan.Existing, f.Plan.Ready, f.Plan.Doomed = 0, 0, 0, []int32{0, 1}
			},
			phase: v1alpha1.PhasePending, message: "2 VMs are left", ready: "False", reason: v1alpha1.ReasonDeleting,
		},
		{
			story: "repairing",
			change: func(f *Facts) {
				f.Plan.Existing, f.Plan.Ready, f.Plan.Repairing, f.Plan.Settled = 1, 1, true, false
			},
			phase: v1alpha1.PhasePending, message: "1 of 2", ready: "False", reason: v1alpha1.ReasonRepairing,
		},
		{
			story: "slower than the deadline",
			change: func(f *Facts) {
				f.Plan.Ready, f.Plan.Settled = 1, false
				f.Spec.Readiness = &v1alpha1.Readiness{ProgressDeadlineSeconds: 60}
				f.Old.Conditions = []metav1.Condition{{
					Type: v1alpha1.ConditionReconciling, Status: "True", Reason: "x", LastTransitionTime: metav1.NewTime(noon.Add(-time.Minute)),
				}}
			},
			phase: v1alpha1.PhaseError, message: "progressDeadlineSeconds", ready: "False", reason: v1alpha1.ReasonStarting,
			present: []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling},
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			f := running()
			c.change(&f)
			s := f.Status()
			ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
			if s.Phase != c.phase || ready.Status != c.ready || ready.Reason != c.reason {
				t.Errorf("got %s, Ready %s/%s; want %s, %s/%s", s.Phase, ready.Status, ready.Reason, c.phase, c.ready, c.reason)
			}
			said := s.LastMessage + "\n" + ready.Message
			if stalled := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled); stalled != nil {
				said += "\n" + stalled.Message
			}
			if !strings.Contains(said, c.message) {
				t.Errorf("message %q does not say %q", said, c.message)
			}
			for _, conditionType := range c.present {
				if !meta.IsStatusConditionTrue(s.Conditions, conditionType) {
					t.Errorf("condition %s is missing", conditionType)
				}
			}
			for _, conditionType := range c.absent {
				if meta.FindStatusCondition(s.Conditions, conditionType) != nil {
					t.Errorf("condition %s should not be there", conditionType)
				}
			}
			if !f.Complete && len(s.VMs) != len(f.Old.VMs) {
				t.Error("an incomplete observation changed the table of VMs")
			}
			f.Old, f.Now = s, noon.Add(time.Hour)
			f.Spec.Readiness = nil
			if again := f.Status(); !strings.Contains(c.message, "progressDeadlineSeconds") && !equality.Semantic.DeepEqual(s, again) {
				t.Error("the same facts give another status an hour later: it would be written for ever")
			}
		})
	}
}

func TestWhatDecisionsDependOnComesBackFromStatus(t *testing.T) {
	f := running()
	f.Plan.VMs[0].Incarnation, f.Plan.VMs[0].ShutdownTime = 2, noon.Add(time.Second)
	f.Plan.VMs[1].Phase, f.Plan.VMs[1].ReadySince = v1alpha1.VMCloning, time.Time{}
	f.Plan.VMs[1].StartTime, f.Plan.VMs[1].Updating, f.Plan.VMs[1].RestartPending = noon, true, true
	f.Rollout = &plan.Rollout{
		Revision: "b", From: []string{"a"}, Start: noon, Failed: []string{"u"}, Surge: []string{"v"}, SurgeKnown: true, Tried: true, RefusedAt: noon.Add(time.Minute),
	}
	f.Plan.Revisions, f.Plan.AdoptedRevisions = []v1alpha1.Revision{{Revision: "a"}}, []v1alpha1.Revision{{Revision: "o"}}
	status := f.Status()
	if got := rolloutOf(&status); !reflect.DeepEqual(got, f.Rollout) {
		t.Errorf("status says of the update\n%+v, want\n%+v", got, f.Rollout)
	}
	status.Rollout.Surge = nil // as an older version writes it
	if got := rolloutOf(&status); got.SurgeKnown {
		t.Errorf("of an update of an older version is known %+v", got)
	}
	if len(status.Revisions) != 1 || !status.VMs[1].RestartPending {
		t.Errorf("status has the shapes %+v, and of the second VM %+v", status.Revisions, status.VMs[1])
	}
	f.Rollout, f.Old, f.Complete = nil, status, false
	if kept := f.Status(); len(kept.Revisions) != 1 || len(kept.AdoptedRevisions) != 1 || kept.Rollout == nil {
		t.Errorf("with an incomplete inventory, rollout and revisions are %+v, %+v", kept.Rollout, kept.Revisions)
	}
	want := []plan.Known{
		{Ordinal: 0, Incarnation: 2, MoRef: "vm-1", UUID: "u0", Revision: "1-a", ReadySince: noon, ShutdownTime: noon.Add(time.Second), Phase: v1alpha1.VMReady},
		{Ordinal: 1, MoRef: "vm-2", UUID: "u1", Revision: "1-a", StartTime: noon, Updating: true, Phase: v1alpha1.VMCloning},
	}
	if got := known(&status); !reflect.DeepEqual(got, want) {
		t.Errorf("status says of its VMs\n%+v, want\n%+v", got, want)
	}
}

func TestOnlyReportsMayWait(t *testing.T) {
	f := running()
	f.Plan.VMs[1].Updating, f.Plan.VMs[1].ShutdownTime = true, noon
	old := f.Status()
	f.Plan.VMs[0].IPAddress = "10.0.0.1"
	if Urgent(old, f.Status()) {
		t.Error("an IP address is written at once: a big scale-up would flood the API server")
	}
	for story, change := range map[string]func(*Facts){
		"an intent to clone": func(f *Facts) {
			f.Plan.VMs = append(f.Plan.VMs, plan.VMStatus{Ordinal: 2, UUID: "u2", Phase: v1alpha1.VMCloning})
		},
		"another incarnation":                func(f *Facts) { f.Plan.VMs[0].UUID, f.Plan.VMs[0].MoRef = "u0b", "" },
		"a doomed ordinal":                   func(f *Facts) { f.Plan.Doomed = []int32{1} },
		"a new generation":                   func(f *Facts) { f.Generation++ },
		"another epoch":                      func(f *Facts) { f.Epoch = v1alpha1.Epoch{Number: 1} },
		"what was admitted":                  func(f *Facts) { f.Admission.Admitted = &v1alpha1.Admitted{VMShape: v1alpha1.VMShape{CPU: 1}} },
		"a guest that is asked to shut down": func(f *Facts) { f.Plan.VMs[0].ShutdownTime = noon },
		"a VM that is stopped for an update": func(f *Facts) { f.Plan.VMs[0].Updating = true },
		"another try to stop it":             func(f *Facts) { f.Plan.VMs[1].StoppedAt = noon },
		"that its change was refused":        func(f *Facts) { f.Plan.VMs[1].RefusedAt = noon },
		"a guest that has shut down for one": func(f *Facts) { f.Plan.VMs[1].ShutdownTime = time.Time{} },
		"an update that begins":              func(f *Facts) { f.Rollout = &plan.Rollout{Revision: "b", From: []string{"1-a"}} },
		"a VM that failed an update":         func(f *Facts) { f.Rollout = &plan.Rollout{Revision: "b", Failed: []string{"u0"}} },
		"what VMs are made of":               func(f *Facts) { f.Plan.Revisions = []v1alpha1.Revision{{Revision: "1-a"}} },
		"what adopted VMs are made of":       func(f *Facts) { f.Plan.AdoptedRevisions = []v1alpha1.Revision{{Revision: "1-a"}} },
		"who leaves first":                   func(f *Facts) { f.Plan.Listed = []plan.Listed{{Name: "vg-1-0", MoRef: "vm-1"}} },
		"losing readiness":                   func(f *Facts) { f.Plan.Ready, f.Plan.Settled = 1, false },
	} {
		f := running()
		f.Old = old
		f.Plan.VMs[1].Updating, f.Plan.VMs[1].ShutdownTime = true, noon
		change(&f)
		if !Urgent(old, f.Status()) {
			t.Errorf("%s may wait", story)
		}
	}
}

func TestEventsTellTransitionsOnce(t *testing.T) {
	f := running()
	before := f.Status()
	f.Old = before
	if got := Events(before, f.Status()); len(got) != 0 {
		t.Errorf("nothing changed, but events say %v", got)
	}
	f.Plan.VMs[1].Incarnation, f.Plan.VMs[1].MoRef = 1, ""
	f.Plan.Existing, f.Plan.Ready, f.Plan.Repairing, f.Plan.Settled = 1, 1, true, false
	lost := f.Status()
	if reasons := reasonsOf(Events(before, lost)); reasons != "VMsReplaced Repairing" {
		t.Errorf("a replaced VM gives events %q", reasons)
	}
	f.Old = lost
	f.Plan.VMs[1].MoRef = "vm-3"
	if reasons := reasonsOf(Events(lost, f.Status())); reasons != "VMsCreated" {
		t.Errorf("its replacement gives events %q", reasons)
	}
	f.Plan.VMs = f.Plan.VMs[:1]
	if reasons := reasonsOf(Events(f.Status(), f.Status())); reasons != "" {
		t.Errorf("no change gives events %q", reasons)
	}
	// Only a VM that was to be removed counts as removed by the operator when it was deleted.
	if reasons := reasonsOf(Events(before, f.Status())); !strings.Contains(reasons, "VMsVanished") || strings.Contains(reasons, "VMsRemoved") {
		t.Errorf("a VM that another user removed gives events %q", reasons)
	}
	doomed := before.DeepCopy()
	doomed.Deleting = []int32{1}
	marked := before.DeepCopy()
	marked.VMs[1].Phase = v1alpha1.VMDeleting
	for _, was := range []*v1alpha1.VmGroupStatus{doomed, marked} {
		if reasons := reasonsOf(Events(*was, f.Status())); !strings.Contains(reasons, "VMsRemoved") || strings.Contains(reasons, "VMsVanished") {
			t.Errorf("a removed VM gives events %q", reasons)
		}
	}
}

func TestAnEventTellsThatAPolicyWasTightened(t *testing.T) {
	f := running()
	before := f.Status()
	f.Old = before
	f.Admission.Status, f.Admission.Reason = metav1.ConditionFalse, v1alpha1.ReasonPolicyTightened
	tightened := f.Status()
	if reasons := reasonsOf(Events(before, tightened)); reasons != v1alpha1.ReasonPolicyTightened {
		t.Errorf("events are %q", reasons)
	}
	f.Old = tightened
	f.Admission.Message = "said in other words"
	if reasons := reasonsOf(Events(tightened, f.Status())); reasons != "" {
		t.Errorf("said again: %q", reasons)
	}
	f.Admission.Reason, f.Admission.Held, f.Admission.Terminal = v1alpha1.ReasonPolicyViolated, true, true
	if reasons := reasonsOf(Events(tightened, f.Status())); reasons != v1alpha1.ReasonPolicyViolated {
		t.Errorf("a held group gives events %q, want one", reasons)
	}
}

func reasonsOf(ts []Event) string {
	reasons := make([]string, 0, len(ts))
	for _, t := range ts {
		reasons = append(reasons, t.Reason)
	}
	return strings.Join(reasons, " ")
}

func TestTheCurrentRevisionIsThatOfAllVMsThatStay(t *testing.T) {
	vm := func(moRef, revision string, phase v1alpha1.VMPhase) plan.VMStatus {
		return plan.VMStatus{MoRef: moRef, Revision: revision, Phase: phase}
	}
	ready, leaving := v1alpha1.VMReady, v1alpha1.VMDeleting
	for story, c := range map[string]struct {
		vms  []plan.VMStatus
		want string
	}{
		"no VM":                              {nil, "old"},
		"all have one":                       {[]plan.VMStatus{vm("vm-1", "b", ready), vm("vm-2", "b", ready)}, "b"},
		"two revisions":                      {[]plan.VMStatus{vm("vm-1", "b", ready), vm("vm-2", "a", ready)}, "old"},
		"one of another revision leaves":     {[]plan.VMStatus{vm("vm-1", "a", leaving), vm("vm-2", "b", ready)}, "b"},
		"one of another revision is not yet": {[]plan.VMStatus{vm("vm-1", "a", ready), vm("", "b", v1alpha1.VMCloning)}, "a"},
		"only clones that are on their way":  {[]plan.VMStatus{vm("", "b", v1alpha1.VMCloning)}, "old"},
	} {
		if got := currentRevision("old", c.vms); got != c.want {
			t.Errorf("%s: %q, want %q", story, got, c.want)
		}
	}
}

// updating is a group with one of two VMs in the state of spec.
func updating(f *Facts, reason string) {
	f.Plan.Update = plan.Update{Reason: reason, Message: "1 of 2 updated"}
}

func TestHowFarAnUpdateIsIsACondition(t *testing.T) {
	for _, reason := range []string{v1alpha1.ReasonUpToDate, v1alpha1.ReasonNotStarted, v1alpha1.ReasonRolloutStopped} {
		f := running()
		f.Plan.Update = plan.Update{Reason: reason, Message: "why"}
		is := meta.FindStatusCondition(f.Status().Conditions, v1alpha1.ConditionUpToDate)
		if is == nil || is.Reason != reason || is.Message != "why" || (is.Status == metav1.ConditionTrue) != (reason == v1alpha1.ReasonUpToDate) {
			t.Errorf("%s: %+v", reason, is)
		}
		f.Complete = false
		if is := meta.FindStatusCondition(f.Status().Conditions, v1alpha1.ConditionUpToDate); is != nil {
			t.Errorf("%s: with an incomplete inventory, condition UpToDate is %+v", reason, is)
		}
	}
}

func TestForeignVMsAreToldByKind(t *testing.T) {
	folder := &v1alpha1.FolderStatus{Path: "/DC/vm/x"}
	stranger, copied := plan.Foreign{Name: "mine", MoRef: "vm-8"}, plan.Foreign{Name: "web-0", MoRef: "vm-9", Copy: true}
	released := plan.Foreign{Name: "web-1", MoRef: "vm-7", Released: true, TakesName: true}
	taker := plan.Foreign{Name: "web-2", MoRef: "vm-6", TakesName: true}
	for story, c := range map[string]struct {
		foreign []plan.Foreign
		reason  string
		words   []string
		not     string
	}{
		"a copy":                {[]plan.Foreign{copied}, v1alpha1.ReasonCopiedStamps, []string{"web-0 (vm-9)", "vmgroup.* keys"}, "not this group's"},
		"a stranger":            {[]plan.Foreign{stranger}, v1alpha1.ReasonUnstampedVMs, []string{"mine (vm-8)", "/DC/vm/x"}, "copies"},
		"one that was released": {[]plan.Foreign{released}, v1alpha1.ReasonUnstampedVMs, []string{"web-1 (vm-7)", "this group retained", "/DC/vm/x"}, "not this group's"},
		"one that was released, and one that takes a name": {[]plan.Foreign{released, taker}, v1alpha1.ReasonNameConflict, []string{"web-1 (vm-7)", "web-2 (vm-6)"}, "copies"},
		"one that came back": {[]plan.Foreign{{Name: "web-0", MoRef: "vm-9", Back: true, TakesName: true}}, v1alpha1.ReasonReturnedVMs,
			[]string{"web-0 (vm-9)", "raise spec.replicas by 1", "delete them", "If this VmGroup is deleted, spec.deletionPolicy applies to them, too"}, "copies"},
		"both": {[]plan.Foreign{copied, stranger}, v1alpha1.ReasonUnstampedVMs, []string{"web-0 (vm-9)", "mine (vm-8)"}, "more"},
	} {
		reason, message := describeForeign(c.foreign, folder)
		if reason != c.reason || strings.Contains(message, c.not) {
			t.Errorf("%s: %s: %s", story, reason, message)
		}
		for _, word := range c.words {
			if !strings.Contains(message, word) {
				t.Errorf("%s: %q does not say %q", story, message, word)
			}
		}
	}
	if got := list([]string{"a", "b"}, 2); got != "a, b" {
		t.Errorf("a list that just fits is %q", got)
	}
	if got := list([]string{"a", "b", "c"}, 2); got != "a, b and 1 more" {
		t.Errorf("a list that is too long is %q", got)
	}
}

// The state of vCenter is reported once, with the most detail, and the reason for which a group is held once.
func TestNothingIsSaidTwiceOfWhyAGroupWaits(t *testing.T) {
	incomplete := plan.Blocker{Reason: v1alpha1.ReasonInventoryIncomplete, Message: "not complete"}
	f := running()
	f.Complete, f.Incomplete, f.Plan.Blockers = false, "not complete", []plan.Blocker{incomplete}
	ready := func() *metav1.Condition {
		s := f.Status()
		return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
	}
	if c := ready(); c.Status != metav1.ConditionUnknown || c.Reason != v1alpha1.ReasonInventoryIncomplete || c.Message != "not complete" {
		t.Errorf("an inventory that is not complete: %+v", c)
	}
	f.Plan.Blockers = nil
	if c := ready(); c.Reason != v1alpha1.ReasonInventoryIncomplete || c.Message != "not complete" {
		t.Errorf("an inventory that is not complete, and no plan that says so: %+v", c)
	}
	f.Plan.Blockers = []plan.Blocker{incomplete}
	f.Unavailable = &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "away"}
	if c := ready(); c.Reason != v1alpha1.ReasonVCenterUnreachable || c.Message != "away" {
		t.Errorf("condition Ready for an unreachable vCenter: %+v", c)
	}
}
