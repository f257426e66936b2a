package group

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// created is a group that wants 2 VMs and that no pass has seen yet.
func created() *Snapshot {
	s := &Snapshot{
		Recorded: &RecordAnswer{},
		Now:      noon, VCenter: "default", Member: "local", ID: vsphere.GroupID{Group: "u"}, Epoch: v1alpha1.Epoch{Generation: 1, Number: 3},
		Group: &v1alpha1.VmGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "u", Generation: 1},
			Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian", Replicas: ptr.To[int32](2)},
		},
		Names:      Names{Template: vsphere.Template{Name: "debian", Host: "host-1"}},
		Definition: &DefinitionAnswer{},
	}
	s.Revision = plan.Revision(s.Group.Spec)
	s.See(vsphere.Observation{Complete: true})
	return s
}

// ours is created, with the finalizer that this process has written.
func ours() *Snapshot {
	s := created()
	s.Group.Finalizers, s.Written = []string{v1alpha1.VmGroupFinalizer}, true
	return s
}

// leaving is a group that is being deleted and has a folder, but no VMs any more.
func leaving() *Snapshot {
	s := ours()
	s.Group.DeletionTimestamp = &metav1.Time{Time: noon}
	s.Group.Status.ObservedGeneration = 1
	s.Folder = &v1alpha1.FolderStatus{Path: "/DC/vm/x", MoRef: "group-v1"}
	s.Group.Status.Folder = s.Folder
	return s
}

func TestANewGroupIsDecidedAboutStepByStep(t *testing.T) {
	s := created()
	s.Recorded = nil
	s.Group.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "init"}
	step := func(want Step) Decision {
		t.Helper()
		d := Decide(s)
		if d.Step != want {
			t.Fatalf("the step is %s (%+v), want %s", d.Step, d, want)
		}
		return d
	}
	step(AddFinalizer)
	s.Group.Finalizers, s.Written = []string{v1alpha1.VmGroupFinalizer}, true
	if q := step(AskQuota).Quota; !q.Claims || q.Wants.VMs != 2 || q.Holds.VMs != 0 {
		t.Errorf("quotas are asked %+v", q)
	}
	s.Quota = &QuotaAnswer{Granted: true}
	step(ReadUserData)
	s.UserData = map[string]*UserDataAnswer{"init": {Data: []byte("x")}}
	step(MakeFolder)
	s.FolderMade, s.Folder = &Attempt{}, &v1alpha1.FolderStatus{Path: "/x", MoRef: "group-v1"}
	if r := step(PutRecord).Record; r == nil || r.Replicas != 2 {
		t.Errorf("the record is %+v", r)
	}
	s.Recorded = &RecordAnswer{}
	d := step(Act)
	if d.Plan.Creates() != 2 || d.Status == nil || len(d.Status.VMs) != 2 || d.Status.VMs[0].Phase != v1alpha1.VMPending || d.Status.Folder != s.Folder {
		t.Errorf("the plan is %+v, the status %+v", d.Plan, d.Status)
	}
	if s.Group.Status.ObservedGeneration != 0 {
		t.Error("a decision changed the group")
	}
}

func TestStepsOfADecision(t *testing.T) {
	refused := &vsphere.Error{Kind: vsphere.KindPermission, Op: "create a folder", Err: errors.New("no privilege")}
	unreachable := &plan.Blocker{Reason: v1alpha1.ReasonVCenterUnreachable, Message: "away"}
	stamped := vsphere.Observation{Complete: true, VMs: []vsphere.VM{{
		Ref: vsphere.VMRef("vm-1"), Name: "web-0", Stamp: &vsphere.Stamp{GroupID: vsphere.GroupID{Group: "u"}}, Folder: vsphere.FolderRef("group-v9"),
	}}}
	epoch := func(generation int64) *v1alpha1.Ownership {
		return &v1alpha1.Ownership{Epoch: v1alpha1.Epoch{Generation: generation}}
	}
	raised := func(above int64, ago time.Duration, shown int64) func(*Snapshot) {
		return func(s *Snapshot) {
			s.Raised, s.Group.Status.Ownership = Raise{Above: above, At: noon.Add(-ago)}, epoch(shown)
		}
	}
	for story, c := range map[string]struct {
		from   func() *Snapshot
		change func(*Snapshot)
		want   Step
		after  time.Duration
	}{
		"a later epoch in status": {ours, func(s *Snapshot) {
			s.Group.Status.Ownership = &v1alpha1.Ownership{Epoch: v1alpha1.Epoch{Generation: 1, Number: 4}}
		}, RaiseEpoch, time.Second},
		"an epoch as far ahead as is believed":             {ours, func(s *Snapshot) { s.Group.Status.Ownership = epoch(1 + protocol.MaxRaise) }, RaiseEpoch, time.Second},
		"an epoch that was made up":                        {ours, func(s *Snapshot) { s.Group.Status.Ownership = epoch(2 + protocol.MaxRaise) }, Report, 0},
		"an epoch to which the shard map is being raised":  {ours, raised(5, time.Minute, 5), RaiseEpoch, time.Second},
		"a higher one soon after the shard map was raised": {ours, raised(5, time.Minute, 6), Report, 59 * time.Minute},
		"a higher one long after the shard map was raised": {ours, raised(5, time.Hour, 6), RaiseEpoch, time.Second},
		"a deletion does not go past a made-up epoch":      {leaving, func(s *Snapshot) { s.Group.Status.Ownership = epoch(1 << 60) }, Report, 0},
		"a group of the original operator": {ours, func(s *Snapshot) {
			s.Group.Finalizers = append(s.Group.Finalizers, v1alpha1.LegacyFinalizer)
		}, Report, 0},
		"one whose VMs are abandoned": {ours, func(s *Snapshot) {
			s.Group.Finalizers = append(s.Group.Finalizers, v1alpha1.LegacyFinalizer)
			s.Group.Annotations = map[string]string{v1alpha1.AdoptAnnotation: v1alpha1.AdoptAbandon}
		}, RemoveLegacyFinalizer, 0},
		"deleted before it was ours":                         {leaving, func(s *Snapshot) { s.Group.Finalizers = nil }, Wait, 0},
		"a namespace that the cache does not have yet":       {ours, func(s *Snapshot) { s.Stranger = true }, Wait, time.Second},
		"a deletion does not wait for it":                    {leaving, func(s *Snapshot) { s.Stranger = true }, AskQuota, 0},
		"no request was ever sent to an unreachable vCenter": {leaving, func(s *Snapshot) { s.Unavailable, s.Group.Status.Folder = unreachable, nil }, Release, 0},
		"the hub has a record, so that something was asked": {leaving, func(s *Snapshot) {
			s.Unavailable, s.Group.Status.Folder = unreachable, nil
			s.Believe(Record{Admitted: &v1alpha1.Admitted{Replicas: 2, VMShape: v1alpha1.VMShape{CPU: 1}}})
		}, AskQuota, 0},
		"the records of the hub are unreadable": {leaving, func(s *Snapshot) {
			s.Unavailable, s.Group.Status.Folder = unreachable, nil
			s.Believe(Record{Unread: "away"})
		}, AskQuota, 0},
		"a status that was wiped proves nothing about that":                {leaving, func(s *Snapshot) { s.Unavailable, s.Group.Status = unreachable, v1alpha1.VmGroupStatus{} }, AskQuota, 0},
		"a wiped status, and VMs that cannot be distinguished from copies": {ours, func(s *Snapshot) { s.See(stamped) }, Report, 0},
		"a wiped status of a paused group": {ours, func(s *Snapshot) {
			s.See(stamped)
			s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused}
		}, Report, 0},
		"out of sight for a moment":                       {ours, func(s *Snapshot) { s.Unavailable, s.OutOfSight = unreachable, noon.Add(-time.Second) }, Wait, 4 * time.Second},
		"out of sight for long":                           {ours, func(s *Snapshot) { s.Unavailable, s.OutOfSight = unreachable, noon.Add(-5*time.Second) }, AskQuota, 0},
		"a claim on its way":                              {ours, func(s *Snapshot) { s.Quota = &QuotaAnswer{Waiting: true} }, Wait, time.Second},
		"a deletion that is no quota's business any more": {leaving, func(s *Snapshot) { s.Vanished = true }, RemoveFolder, 0},
		"the VMs are deleted":                             {leaving, func(s *Snapshot) { s.Quota = &QuotaAnswer{Granted: true} }, RemoveFolder, 0},
		"the folder is deleted as well":                   {leaving, func(s *Snapshot) { s.Quota = &QuotaAnswer{Granted: true}; s.Observation.FolderGone = true }, Release, 0},
		"status names a folder without a reference":       {leaving, func(s *Snapshot) { s.Quota, s.Folder = &QuotaAnswer{Granted: true}, &v1alpha1.FolderStatus{Path: "/x"} }, Release, 0},
		"the folder could not be removed": {leaving, func(s *Snapshot) {
			s.Quota, s.FolderRemoved = &QuotaAnswer{Granted: true}, &Attempt{&vsphere.Error{Kind: vsphere.KindNotEmpty, Op: "remove the folder"}}
		}, Report, 10 * time.Second},
		"another replica gets the group before its folder is removed": {leaving, func(s *Snapshot) {
			s.Quota, s.FolderRemoved = &QuotaAnswer{Granted: true}, &Attempt{&vsphere.Error{Kind: vsphere.KindFenced, Op: "check the fence"}}
		}, Wait, time.Second},
		"another replica gets the group before its folder is made": {ours, func(s *Snapshot) {
			s.Quota, s.FolderMade = &QuotaAnswer{Granted: true}, &Attempt{&vsphere.Error{Kind: vsphere.KindFenced, Op: "check the fence"}}
		}, Wait, time.Second},
		"a person made a folder in the group's": {leaving, func(s *Snapshot) {
			s.Quota, s.FolderRemoved = &QuotaAnswer{Granted: true}, &Attempt{&vsphere.Error{Kind: vsphere.KindHoldsFolders, Op: "remove the folder"}}
		}, Release, 0},
		"a folder may not be made": {ours, func(s *Snapshot) { s.Quota, s.FolderMade = &QuotaAnswer{Granted: true}, &Attempt{refused} }, Act, 30 * time.Second},
		"a folder could not be made now": {ours, func(s *Snapshot) {
			s.Quota, s.FolderMade = &QuotaAnswer{Granted: true}, &Attempt{&vsphere.Error{Kind: vsphere.KindTransient, Op: "create a folder"}}
		}, Act, 2 * time.Second},
	} {
		t.Run(story, func(t *testing.T) {
			s := c.from()
			c.change(s)
			d := Decide(s)
			if d.Step != c.want || d.After != c.after {
				t.Errorf("the step is %s and the group is enqueued again after %s; want %s after %s", d.Step, d.After, c.want, c.after)
			}
			if len(d.Plan.Actions) > 0 && (d.Step == Act || d.Step == Report) {
				t.Errorf("something is done: %+v", d.Plan.Actions)
			}
		})
	}
}

func TestWhatIsRefusedIsNotClaimedAndGivenBack(t *testing.T) {
	s := ours()
	s.Violations = []policy.Violation{{Rule: policy.RuleReplicasMaximum, Enforced: true}}
	s.Admitted = &v1alpha1.Admitted{Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian"}}
	if q := Decide(s).Quota; q.Claims || !q.Returns || q.Wants.VMs != 0 || q.Occupies.VMs != 1 {
		t.Errorf("quotas are asked %+v", q)
	}
}

func TestAFolderWithWhatIsNotOursIsKeptAndTheGroupGoes(t *testing.T) {
	s := leaving()
	s.Quota = &QuotaAnswer{Granted: true}
	s.See(vsphere.Observation{Complete: true, VMs: []vsphere.VM{{Ref: vsphere.VMRef("vm-9"), Name: "a stranger", Folder: vsphere.FolderRef("group-v1")}}})
	s.FolderRemoved = &Attempt{&vsphere.Error{Kind: vsphere.KindNotEmpty, Op: "remove the folder", Holds: []vsphere.Ref{vsphere.VMRef("vm-9")}}}
	d := Decide(s)
	if d.Step != Release || len(d.Events) != 1 || !strings.Contains(d.Events[0].Note, "/DC/vm/x") {
		t.Errorf("decided %s with events %+v", d.Step, d.Events)
	}
}

func TestAFolderWithAVAppOfAPersonIsKeptAndTheGroupGoes(t *testing.T) {
	s := leaving()
	s.Quota = &QuotaAnswer{Granted: true}
	s.See(vsphere.Observation{Complete: true})
	vApp := vsphere.Ref{Type: "VirtualApp", Value: "resgroup-v9"}
	s.FolderRemoved = &Attempt{&vsphere.Error{Kind: vsphere.KindNotEmpty, Op: "remove the folder", Holds: []vsphere.Ref{vApp}}}
	if d := Decide(s); d.Step != Release || len(d.Events) != 1 {
		t.Errorf("decided %s with events %+v", d.Step, d.Events)
	}
}

func TestAFolderInWhichAVMHasJustAppearedHoldsTheGroup(t *testing.T) {
	for name, holds := range map[string][]vsphere.Ref{
		"beside a stranger":    {vsphere.VMRef("vm-9"), vsphere.VMRef("vm-10")},
		"alone":                {vsphere.VMRef("vm-10")},
		"with unknown content": nil,
	} {
		s := leaving()
		s.Quota = &QuotaAnswer{Granted: true}
		s.See(vsphere.Observation{Complete: true, VMs: []vsphere.VM{{Ref: vsphere.VMRef("vm-9"), Name: "a stranger", Folder: vsphere.FolderRef("group-v1")}}})
		s.FolderRemoved = &Attempt{&vsphere.Error{Kind: vsphere.KindNotEmpty, Op: "remove the folder", Holds: holds}}
		d := Decide(s)
		if d.Step != Report || d.After != folderInterval {
			t.Errorf("%s: decided %s, again after %s", name, d.Step, d.After)
		}
		// The operator tries again, so the wait is no error.
		handled := len(d.Events) == 1 && d.Events[0].Handled
		if handled != (len(holds) > 0) {
			t.Errorf("%s: events %+v", name, d.Events)
		}
	}
}

func TestAReportThatNothingDependsOnWaits(t *testing.T) {
	s := ours()
	s.Quota, s.Paused = &QuotaAnswer{Granted: true}, &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "paused"}
	first := Decide(s)
	if first.Step != Act || first.Status == nil {
		t.Fatalf("decided %+v", first)
	}
	s.Group.Status, s.Reported = *first.Status, noon.Add(-300*time.Millisecond)
	s.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "paused by another user"}
	if d := Decide(s); d.Status != nil || d.After != 9700*time.Millisecond {
		t.Errorf("the status is written at once, or the group is enqueued again after %s", d.After)
	}
	s.Now = noon.Add(10 * time.Second)
	if d := Decide(s); d.Status == nil || d.After != 0 {
		t.Errorf("it is not written when it is time to")
	}
}

// Each write of a large group is sent to each watcher whole.
func TestAddressesOfALargeGroupAreWrittenTogether(t *testing.T) {
	for story, c := range map[string]struct {
		vms    int32
		change func(*v1alpha1.VmGroupStatus)
		wait   time.Duration
	}{
		"an address":                    {21, func(s *v1alpha1.VmGroupStatus) { s.VMs[7].IPAddress = "10.0.0.7" }, 4700 * time.Millisecond},
		"an address in a smaller group": {20, func(s *v1alpha1.VmGroupStatus) { s.VMs[7].IPAddress = "10.0.0.7" }, 700 * time.Millisecond},
		"a time":                        {21, func(s *v1alpha1.VmGroupStatus) { s.VMs[7].ReadySince = new(metav1.NewTime(noon)) }, 4700 * time.Millisecond},
		"a VM that is not ready":        {21, func(s *v1alpha1.VmGroupStatus) { s.VMs[20].ReadySince = nil }, 700 * time.Millisecond},
		"an address and a count":        {21, func(s *v1alpha1.VmGroupStatus) { s.VMs[7].IPAddress, s.ReadyReplicas = "10.0.0.7", 3 }, 700 * time.Millisecond},
		"a message":                     {21, func(s *v1alpha1.VmGroupStatus) { s.VMs[7].Message = "its host is unreachable" }, 700 * time.Millisecond},
		"a VM less":                     {21, func(s *v1alpha1.VmGroupStatus) { s.VMs = s.VMs[:20] }, 700 * time.Millisecond},
		"a VM that is no longer ready":  {21, func(s *v1alpha1.VmGroupStatus) { s.VMs[7].Phase = v1alpha1.VMUnhealthy }, 0},
	} {
		t.Run(story, func(t *testing.T) {
			s := ours()
			s.Reported = noon.Add(-300 * time.Millisecond)
			var old v1alpha1.VmGroupStatus
			for ordinal := range c.vms {
				old.VMs = append(old.VMs, v1alpha1.VMStatus{Ordinal: ordinal, Phase: v1alpha1.VMReady})
			}
			old.VMs[c.vms-1].ReadySince = new(metav1.NewTime(noon.Add(-time.Hour)))
			next := *old.DeepCopy()
			c.change(&next)
			if wait := s.mayWait(old, next); wait != c.wait {
				t.Errorf("the write waits %s, want %s", wait, c.wait)
			}
		})
	}
}

func TestWhatNoEventTellsOfIsLookedForAgain(t *testing.T) {
	blocked := &plan.Blocker{Reason: v1alpha1.ReasonUserDataNotFound}
	for story, c := range map[string]struct {
		change func(*Snapshot)
		after  time.Duration
	}{
		"nothing of the kind":          {func(*Snapshot) {}, 0},
		"a VM outside of the root":     {func(s *Snapshot) { s.Observation.Elsewhere = []vsphere.Ref{vsphere.VMRef("vm-1")} }, 30 * time.Second},
		"a quota that cannot be asked": {func(s *Snapshot) { s.Quota.Unwatched = true }, 30 * time.Second},
		"a Secret that is missing":     {func(s *Snapshot) { s.UserData = map[string]*UserDataAnswer{"init": {Blocked: blocked}} }, 30 * time.Second},
		"a Secret that is there":       {func(s *Snapshot) { s.UserData = map[string]*UserDataAnswer{"init": {Data: []byte("x")}} }, 0},
		"a Secret that is not allowed": {func(s *Snapshot) {
			s.UserData, s.UserDataDenied = map[string]*UserDataAnswer{"init": {Blocked: blocked}}, true
		}, 0},
		"a folder that was moved away": {func(s *Snapshot) {
			s.Folder, s.Observation.FolderElsewhere = &v1alpha1.FolderStatus{MoRef: "group-v1"}, true
		}, 30 * time.Second},
		"a change that becomes overdue": {overdueIn(time.Minute), time.Minute},
		"a change that is overdue":      {overdueIn(-time.Minute), 0},
	} {
		t.Run(story, func(t *testing.T) {
			s := ours()
			s.Quota, s.Paused = &QuotaAnswer{Granted: true}, &plan.Blocker{Reason: v1alpha1.ReasonPaused}
			c.change(s)
			if d := Decide(s); d.Step != Act || d.After != c.after {
				t.Errorf("step %s, enqueued again after %s; want %s", d.Step, d.After, c.after)
			}
		})
	}
}

// The folder comes before the VMs in it: once it is back, all are.
func TestAGroupWhoseFolderWasMovedAwaySaysSoBeforeItSpeaksOfItsVMs(t *testing.T) {
	s := ours()
	s.Quota = &QuotaAnswer{Granted: true}
	s.Folder, s.Observation.FolderElsewhere = &v1alpha1.FolderStatus{MoRef: "group-v1", Path: "/DC0/vm/x"}, true
	s.Observation.Elsewhere = []vsphere.Ref{vsphere.VMRef("vm-1")}
	s.Group.Status.VMs = []v1alpha1.VMStatus{{Name: "web-0", MoRef: "vm-1", UUID: "u"}}
	s.Group.Spec.Replicas = new(int32(3))
	d := Decide(s)
	if d.Status == nil || len(d.Plan.Actions) != 0 {
		t.Fatalf("%s: %+v", d.Step, d.Plan.Actions)
	}
	for _, conditionType := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled} {
		if c := meta.FindStatusCondition(d.Status.Conditions, conditionType); c == nil || !strings.Contains(c.Message, "folder /DC0/vm/x (group-v1) was moved out") {
			t.Errorf("%s: %+v", conditionType, c)
		}
	}
}

// overdueIn makes a group that clones have this long until its deadline.
func overdueIn(left time.Duration) func(*Snapshot) {
	return func(s *Snapshot) {
		s.Paused, s.Group.Spec.Readiness = nil, &v1alpha1.Readiness{ProgressDeadlineSeconds: 600}
		s.Folder = &v1alpha1.FolderStatus{MoRef: "group-v1"}
		s.Group.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(left - 600*time.Second)),
		}}
	}
}

func TestUserDataThatIsNotAllowedIsRefusedAsAChangeAndTellsWhenCloning(t *testing.T) {
	s := ours()
	s.Group.Spec.UserDataSecretRef, s.UserDataDenied = &v1alpha1.LocalObjectReference{Name: "init"}, true
	if q := Decide(s).Quota; q.Claims || q.Wants.VMs != 2 {
		t.Errorf("of a group that nothing was admitted of, quotas are asked %+v", q)
	}
	s.UserDataDenied = false
	if q := Decide(s).Quota; !q.Claims {
		t.Errorf("user data that is allowed, and quotas are asked %+v", q)
	}
	s.UserDataDenied = true
	s.Admitted = &v1alpha1.Admitted{Replicas: 1, VMShape: v1alpha1.VMShape{CPU: 1, Memory: 1, Template: "debian"}}
	if q := Decide(s).Quota; q.Claims || q.Wants.VMs != 0 {
		t.Errorf("of a change that is refused, quotas are asked %+v", q)
	}
}

func TestUserDataThatIsMissingKeepsAGroupFromCloning(t *testing.T) {
	s := ours()
	s.Quota, s.Folder = &QuotaAnswer{Granted: true}, &v1alpha1.FolderStatus{Path: "/x", MoRef: "group-v1"}
	s.Group.Spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "init"}
	s.UserData = map[string]*UserDataAnswer{"init": {Blocked: &plan.Blocker{Reason: v1alpha1.ReasonUserDataNotFound, Message: "create it", Terminal: true}}}
	d := Decide(s)
	if d.Step != Act || d.Plan.Creates() != 0 || d.Status == nil || d.Status.LastMessage != "create it" {
		t.Errorf("decided %s with %d clones and status %+v", d.Step, d.Plan.Creates(), d.Status)
	}
}

func TestTheEarliestReasonToLookAgainCounts(t *testing.T) {
	d := Decision{}
	for _, c := range []struct{ after, want time.Duration }{
		{time.Minute, time.Minute}, {time.Hour, time.Minute}, {time.Second, time.Second}, {-time.Second, 10 * time.Millisecond}, {0, 10 * time.Millisecond},
	} {
		if d.look(c.after); d.After != c.want {
			t.Errorf("look(%s): enqueued again in %s, want %s", c.after, d.After, c.want)
		}
	}
}
