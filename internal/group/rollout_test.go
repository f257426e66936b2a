package group

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// edited is a group of three running VMs, just edited to use another template.
func edited(changes ...func(*v1alpha1.VmGroupSpec)) *Snapshot {
	s := ours()
	s.Group.Spec.Replicas = ptr.To[int32](3)
	was := plan.ShapeOf(s.Group.Spec)
	s.Folder = &v1alpha1.FolderStatus{Path: "/x", MoRef: "group-v1"}
	s.Group.Status = v1alpha1.VmGroupStatus{
		ObservedGeneration: 1, Folder: s.Folder, Rollout: &v1alpha1.Rollout{Revision: was.Revision}, Revisions: []v1alpha1.Revision{was},
	}
	o := vsphere.Observation{Complete: true, Folder: vsphere.Folder{Ref: vsphere.FolderRef("group-v1"), Name: FolderName("web", "u")}}
	for ordinal := range int32(3) {
		uuid := plan.InstanceUUID(s.ID.Key(), ordinal, 0)
		vm := vsphere.VM{
			Ref: vsphere.VMRef(fmt.Sprint("vm-", ordinal)), Name: plan.VMName("web", ordinal), InstanceUUID: uuid, Folder: o.Folder.Ref,
			Power: vsphere.PoweredOn, Connection: vsphere.Connected, CPU: 1, MemoryMiB: 1024,
			Stamp: &vsphere.Stamp{GroupID: s.ID, Ordinal: ordinal, Revision: was.Revision},
		}
		o.VMs = append(o.VMs, vm)
		s.Group.Status.VMs = append(s.Group.Status.VMs, v1alpha1.VMStatus{
			Name: vm.Name, Ordinal: ordinal, UUID: uuid, MoRef: vm.Ref.Value, Revision: was.Revision, Phase: v1alpha1.VMReady,
		})
	}
	s.Group.Generation = 2
	s.Group.Spec.Template = "debian-13"
	for _, change := range changes {
		change(&s.Group.Spec)
	}
	s.Revision = plan.Revision(s.Group.Spec)
	s.Quota = &QuotaAnswer{Granted: true, Surge: 3}
	s.See(o)
	return s
}

func TestAnEditIsSeenOnceAlsoWhereNothingCanBePlanned(t *testing.T) {
	s := edited()
	was := s.Group.Status.Rollout.Revision
	held := s.blocked(plan.Blocker{Reason: v1alpha1.ReasonCRDTerminating, Message: "why"}, 0)
	r := held.Status.Rollout
	if held.Status.ObservedGeneration != 2 || r == nil || r.Revision != s.Revision || !slices.Equal(r.From, []string{was}) || r.StartTime == nil {
		t.Errorf("the status of generation %d records %+v", held.Status.ObservedGeneration, r)
	}
	for story, change := range map[string]func(*Snapshot){
		"it was not edited":         func(s *Snapshot) { s.Group.Generation = 1 },
		"its status was lost":       func(s *Snapshot) { s.Group.Status.ObservedGeneration = 0 },
		"an older version wrote it": func(s *Snapshot) { s.Group.Status.Rollout = nil },
		"the group goes": func(s *Snapshot) {
			s.Group.DeletionTimestamp = &s.Group.CreationTimestamp
			s.Group.CreationTimestamp.Time = noon
		},
		"spec asks for the same VMs":  func(s *Snapshot) { s.Revision = s.Group.Status.Rollout.Revision },
		"it comes from another clock": func(s *Snapshot) { s.Group.Status.ObservedGeneration = 7 },
	} {
		s := edited()
		before := s.Group.Status.Rollout.DeepCopy()
		if before != nil && story == "an older version wrote it" {
			before = nil
		}
		change(s)
		after := s.blocked(plan.Blocker{Reason: v1alpha1.ReasonCRDTerminating, Message: "why"}, 0).Status.Rollout
		if (after == nil) != (before == nil) || after != nil && (after.Revision != before.Revision || len(after.From) > 0) {
			t.Errorf("%s: it records %+v", story, after)
		}
	}
}

// TestNoVMIsReplacedWhereNoneCouldComeInItsPlace: the content of a Secret is read first, because a VM can be removed
// before another is cloned.
func TestNoVMIsReplacedWhereNoneCouldComeInItsPlace(t *testing.T) {
	none, one := intstr.FromInt32(0), intstr.FromInt32(1)
	s := edited(func(spec *v1alpha1.VmGroupSpec) {
		spec.UserDataSecretRef = &v1alpha1.LocalObjectReference{Name: "init"}
		spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: &none, MaxUnavailable: &one}
	})
	if d := Decide(s); d.Step != ReadUserData || !slices.Equal(d.Secrets, []string{"init"}) {
		t.Fatalf("decided %s, secrets %v, and doomed %v", d.Step, d.Secrets, d.Plan.Doomed)
	}
	refused := &plan.Blocker{Reason: v1alpha1.ReasonUserDataDenied, Message: `Secret "init" of spec.userDataSecretRef is of another type`, Terminal: true}
	s.UserData = map[string]*UserDataAnswer{"init": {Blocked: refused}}
	d := Decide(s)
	if d.Step != Act || len(d.Plan.Doomed)+len(d.Plan.Actions) != 0 || d.Status == nil || d.Status.LastMessage != headline(refused.Message) || d.After != 30*time.Second {
		t.Errorf("decided %s, doomed %v, status %+v; enqueued again after %s", d.Step, d.Plan.Doomed, d.Status, d.After)
	}
	s.UserData["init"] = &UserDataAnswer{Data: []byte("x")}
	if d := Decide(s); d.Step != Act || len(d.Plan.Doomed) != 1 {
		t.Errorf("decided %s, and doomed %v", d.Step, d.Plan.Doomed)
	}
	s.UserData, s.Group.DeletionTimestamp = nil, &metav1.Time{Time: noon}
	if d := Decide(s); d.Step == ReadUserData {
		t.Errorf("it is deleted; decided %s of %v", d.Step, d.Secrets)
	}
}

// TestAnEditThatAnOlderVersionSawStartsNoUpdate: it keeps the record of the update, and identifies the edit only by
// updateRevision, which it computes without replaceTrigger.
func TestAnEditThatAnOlderVersionSawStartsNoUpdate(t *testing.T) {
	const before, again = "1-before", "again"
	trigger := func(s *Snapshot) {
		s.Group.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: again}
		s.Revision = plan.Revision(s.Group.Spec)
	}
	for story, c := range map[string]struct {
		// spec is the edited spec, under the update in progress, and seen the older version's view of spec, or of
		// something else.
		spec  func(*Snapshot)
		under []string
		seen  func(*Snapshot) string
		want  []string
	}{
		"nothing was under way":   {nil, nil, (*Snapshot).untriggered, nil},
		"an update was under way": {nil, []string{before}, (*Snapshot).untriggered, nil},
		"it asks for a trigger that the older version does not know":    {trigger, nil, (*Snapshot).untriggered, nil},
		"a newer one saw it as well":                                    {trigger, []string{before}, func(s *Snapshot) string { return s.Revision }, nil},
		"spec asks for something else since":                            {nil, nil, func(*Snapshot) string { return "1-seen" }, []string{"was"}},
		"something else with a trigger, and an update was under way":    {trigger, []string{before}, func(*Snapshot) string { return "1-seen" }, []string{before, "was"}},
		"spec is unchanged since: the update in progress continues":     {nil, []string{before}, nil, []string{before}},
		"also with a trigger, though updateRevision is not what it was": {trigger, []string{before}, nil, []string{before}},
	} {
		s := edited()
		r := s.Group.Status.Rollout
		for i, revision := range c.want {
			if revision == "was" {
				c.want[i] = r.Revision
			}
		}
		if c.spec != nil {
			c.spec(s)
		}
		r.From = c.under
		if c.seen != nil {
			s.Group.Status.UpdateRevision = c.seen(s)
		} else {
			r.Revision, s.Group.Status.UpdateRevision = s.Revision, s.untriggered()
			s.Group.Status.Revisions, s.Group.Status.VMs[0].Revision, s.Observation.VMs[0].Stamp.Revision = nil, before, before
			s.See(s.Observation)
		}
		slices.Sort(c.want)
		if n := s.surge(); (n > 0) != (len(c.want) > 0) {
			t.Errorf("%s: quotas are asked for %d more", story, n)
		}
		d := Decide(s)
		if d.Step != Act || d.Status == nil || d.Status.Rollout.Revision != s.Revision || !slices.Equal(d.Status.Rollout.From, c.want) {
			t.Fatalf("%s: decided %s, and recorded is %+v, want an update of %v", story, d.Step, d.Status.Rollout, c.want)
		}
		told := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionUpToDate)
		if c.want == nil && (told.Reason != v1alpha1.ReasonNotStarted || d.Plan.Tasks()+d.Plan.Creates() > 0) {
			t.Errorf("%s: it says %+v, and does %+v", story, told, d.Plan.Actions)
		}
	}
}

func TestAnUpdateAsksForAsManyVMsMoreAsItMayNeed(t *testing.T) {
	larger := func(s *v1alpha1.VmGroupSpec) { s.Template, s.CPU = "debian", 2 }
	retain := func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain }
	strategy := func(u v1alpha1.UpdateStrategy) func(*v1alpha1.VmGroupSpec) {
		return func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy = &u }
	}
	for story, c := range map[string]struct {
		changes []func(*v1alpha1.VmGroupSpec)
		want    int32
	}{
		"as it comes":                  {nil, 1},
		"two at a time":                {[]func(*v1alpha1.VmGroupSpec){strategy(v1alpha1.UpdateStrategy{MaxSurge: ptr.To(intstr.FromInt32(2))})}, 2},
		"a third of them, rounded up":  {[]func(*v1alpha1.VmGroupSpec){strategy(v1alpha1.UpdateStrategy{MaxSurge: ptr.To(intstr.FromString("34%"))})}, 2},
		"more than there are VMs":      {[]func(*v1alpha1.VmGroupSpec){strategy(v1alpha1.UpdateStrategy{MaxSurge: ptr.To(intstr.FromInt32(9))})}, 3},
		"none":                         {[]func(*v1alpha1.VmGroupSpec){strategy(v1alpha1.UpdateStrategy{MaxSurge: ptr.To(intstr.FromInt32(0))})}, 0},
		"people do it":                 {[]func(*v1alpha1.VmGroupSpec){strategy(v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete})}, 0},
		"it is paused":                 {[]func(*v1alpha1.VmGroupSpec){strategy(v1alpha1.UpdateStrategy{Paused: true})}, 0},
		"one makes up for all resizes": {[]func(*v1alpha1.VmGroupSpec){larger, strategy(v1alpha1.UpdateStrategy{MaxSurge: ptr.To(intstr.FromInt32(3))})}, 1},
		"another network": {[]func(*v1alpha1.VmGroupSpec){func(s *v1alpha1.VmGroupSpec) {
			s.Template, s.Placement = "debian", &v1alpha1.Placement{Network: "dmz"}
		}}, 0},
		"one may be missing while others restart":          {[]func(*v1alpha1.VmGroupSpec){larger, strategy(v1alpha1.UpdateStrategy{MaxUnavailable: ptr.To(intstr.FromInt32(1))})}, 0},
		"one may be missing while others are replaced":     {[]func(*v1alpha1.VmGroupSpec){strategy(v1alpha1.UpdateStrategy{MaxUnavailable: ptr.To(intstr.FromInt32(1))})}, 1},
		"VMs are not restarted":                            {[]func(*v1alpha1.VmGroupSpec){larger, strategy(v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot})}, 0},
		"a resize that replaces":                           {[]func(*v1alpha1.VmGroupSpec){larger, strategy(v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeRecreate, MaxSurge: ptr.To(intstr.FromInt32(3))})}, 3},
		"nothing is destroyed":                             {[]func(*v1alpha1.VmGroupSpec){retain}, 0},
		"nothing is destroyed, and VMs restart":            {[]func(*v1alpha1.VmGroupSpec){larger, retain}, 0},
		"the same, and one leaves anyway when all is done": {[]func(*v1alpha1.VmGroupSpec){larger, retain, func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr.To[int32](2) }}, 1},
	} {
		s := edited(c.changes...)
		if got := s.surge(); got != c.want {
			t.Errorf("%s: %d, want %d", story, got, c.want)
		}
		s.Quota = nil
		q := Decide(s).Quota
		if len(q.Surges) != int(c.want) {
			t.Errorf("%s: quotas are asked for %+v", story, q.Surges)
		}
		for k, surge := range q.Surges {
			if surge.VMs != policy.UsageOf(s.Group.Spec).VMs+1+int64(k) {
				t.Errorf("%s: with %d more it wants %+v", story, k+1, surge)
			}
		}
	}
	s := edited()
	s.Group.Status.ObservedGeneration = 2
	if n := s.surge(); n != 0 {
		t.Errorf("an update that was not started has a surge of %d", n)
	}
}

// An update without steps reserves no room for steps, and keeps the room of its existing VMs.
func TestAnUpdateThatRestsAsksForWhatItHas(t *testing.T) {
	three := ptr.To(intstr.FromInt32(3))
	under := func(u v1alpha1.UpdateStrategy, failed ...string) func(*Snapshot) {
		return func(s *Snapshot) {
			u.MaxSurge = three
			s.Group.Spec.UpdateStrategy = &u
			s.Group.Status.Rollout = &v1alpha1.Rollout{Revision: s.Revision, From: s.revisions(), Failed: failed}
		}
	}
	for story, c := range map[string]struct {
		change          func(*Snapshot)
		more, leave     int
		updating, moved bool
		want            int32
	}{
		"it continues":                        {change: under(v1alpha1.UpdateStrategy{}), want: 3},
		"paused":                              {change: under(v1alpha1.UpdateStrategy{Paused: true}), want: 0},
		"paused with one more":                {change: under(v1alpha1.UpdateStrategy{Paused: true}), more: 1, want: 1},
		"paused with more than it may have":   {change: under(v1alpha1.UpdateStrategy{Paused: true}), more: 5, want: 3},
		"paused, and one of two more leaves":  {change: under(v1alpha1.UpdateStrategy{Paused: true}), more: 2, leave: 1, want: 1},
		"people do it, and there is one more": {change: under(v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}), more: 1, want: 1},
		"stopped with one more":               {change: under(v1alpha1.UpdateStrategy{}, "x"), more: 1, want: 1},
		"one failure of two that stop it":     {change: under(v1alpha1.UpdateStrategy{MaxFailures: 2}, "x"), more: 1, want: 3},
		"the last one restarts":               {change: under(v1alpha1.UpdateStrategy{}), updating: true, moved: true, want: 1},
		"it restarts, and one may be missing": {change: under(v1alpha1.UpdateStrategy{MaxUnavailable: ptr.To(intstr.FromInt32(1))}), updating: true, moved: true, want: 0},
		"all are updated":                     {change: under(v1alpha1.UpdateStrategy{}), moved: true, want: 0},
	} {
		s := edited()
		for n := range c.more {
			s.Group.Status.VMs = append(s.Group.Status.VMs, v1alpha1.VMStatus{Ordinal: int32(3 + n), UUID: "u"})
		}
		for n := range c.leave {
			s.Group.Status.Deleting = append(s.Group.Status.Deleting, int32(3+n))
		}
		c.change(s)
		s.Group.Status.VMs[0].Updating = c.updating
		for i := range s.Observation.VMs {
			if c.moved {
				s.Observation.VMs[i].Stamp.Revision = s.Revision
			}
		}
		if got := s.surge(); got != c.want {
			t.Errorf("%s: %d, want %d", story, got, c.want)
		}
	}
}

func TestALargerDiskWantsOneMoreVMOnlyIfItNeedsARestart(t *testing.T) {
	s := edited(func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.Disks = "debian", &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 40}}
	})
	if got := s.surge(); got != 0 {
		t.Errorf("disks that grow while their VMs run want %d more", got)
	}
	s.Observation.Failures = []vsphere.Failure{{Kind: vsphere.OpReconfigure, Ordinal: 1, Revision: "1-earlier", Err: &vsphere.Error{Kind: vsphere.KindOffOnly}}}
	if got := s.surge(); got != 0 {
		t.Errorf("after a refusal of another change, %d more are wanted", got)
	}
	s.Observation.Failures[0].Revision = s.Revision
	if got := s.surge(); got != 1 {
		t.Errorf("a disk that needs a restart wants %d more", got)
	}
	s.Group.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot}
	if got := s.surge(); got != 0 {
		t.Errorf("without restarts, %d more are wanted", got)
	}
}

// Until a VM of spec's revision has been ready, missing VMs are created in an older shape, and surplus VMs can be
// resized before they leave.
func TestAnUpdateWantsWhatItTakesAtMost(t *testing.T) {
	s := edited(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Replicas = 4, ptr.To[int32](1) })
	if got := s.wants(); got != (policy.Usage{Groups: 1, VMs: 3, CPU: 12, Memory: 3}) {
		t.Errorf("three VMs that may grow before two of them leave: %+v", got)
	}
	s = edited(func(s *v1alpha1.VmGroupSpec) { s.Memory, s.Replicas = 1, ptr.To[int32](5) })
	s.Group.Status.Revisions[0].CPU = 8
	s.Group.Status.Revisions[0].Revision = ""
	large := s.Group.Spec
	large.CPU, large.Template = 8, "debian"
	s.Old = []OldShape{{Recorded: plan.ShapeOf(large), Shape: Shape{Spec: large}}}
	s.Group.Status.Rollout = &v1alpha1.Rollout{Revision: s.Revision, From: []string{plan.Revision(large)}}
	for i := range s.Observation.VMs {
		s.Observation.VMs[i].CPU, s.Observation.VMs[i].Stamp.Revision = 8, plan.Revision(large)
	}
	s.See(s.Observation)
	if got := s.wants(); got.CPU != 40 || got.VMs != 5 {
		t.Errorf("two VMs that may come as large as the others: %+v", got)
	}
	s.Group.Spec.UpdateStrategy = &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
	if got := s.wants(); got.CPU != 26 {
		t.Errorf("where people replace VMs, new ones are as spec says: %+v", got)
	}
}

func TestOnlyAGroupThatIsAllowedAsWrittenIsUpdated(t *testing.T) {
	allowed := policy.Admission{Status: "True", Reason: v1alpha1.ReasonPolicyAllows}
	hold := &plan.RemovalHold{Blocker: plan.Blocker{Reason: v1alpha1.ReasonMassDeletion}}
	for story, c := range map[string]struct {
		admission policy.Admission
		hold      *plan.RemovalHold
		change    func(*Snapshot)
		adoption  *plan.Adoption
		want      string
	}{
		"allowed":                {allowed, nil, nil, nil, ""},
		"tightened":              {policy.Admission{Status: "False", Reason: v1alpha1.ReasonPolicyTightened}, nil, nil, nil, v1alpha1.ReasonPolicyTightened},
		"not known":              {policy.Admission{Status: "Unknown", Reason: v1alpha1.ReasonPolicyUnavailable}, nil, nil, nil, v1alpha1.ReasonPolicyUnavailable},
		"VMs are adopted":        {policy.Admission{}, nil, nil, nil, v1alpha1.ReasonAdoptionWaits},
		"its VMs are to be kept": {allowed, hold, nil, nil, v1alpha1.ReasonMassDeletion},
		"what it names is not there": {
			policy.Admission{Status: "Unknown", Reason: v1alpha1.ReasonNotChecked}, nil,
			func(s *Snapshot) { s.Names.Blocked = &plan.Blocker{Reason: v1alpha1.ReasonTemplateNotFound} }, nil, v1alpha1.ReasonTemplateNotFound,
		},
		"what is to be adopted is not known": {
			allowed, nil, nil, &plan.Adoption{Waits: &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused}}, v1alpha1.ReasonAdoptionRefused,
		},
	} {
		s := edited()
		if c.change != nil {
			c.change(s)
		}
		got := ""
		if b := s.updateBlocked(c.admission, c.hold, c.adoption); b != nil {
			got = b.Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", story, got, c.want)
		}
	}
}

func TestAnOlderShapeIsClonedOnlyWhereItIsAllowed(t *testing.T) {
	allowed := policy.Admission{Status: "True", Reason: v1alpha1.ReasonPolicyAllows}
	enforced := func(rule policy.Rule) []policy.Violation {
		return []policy.Violation{{Field: "spec.cpu", Value: int32(9), Rule: rule, Enforced: true}}
	}
	for story, c := range map[string]struct {
		old       *OldShape
		admission policy.Admission
		change    func(*Snapshot)
		want      string
	}{
		"allowed":                   {&OldShape{}, allowed, nil, ""},
		"not looked up":             {nil, allowed, nil, v1alpha1.ReasonInventoryIncomplete},
		"not granted":               {&OldShape{Shape: Shape{Names: Names{Blocked: &plan.Blocker{Reason: v1alpha1.ReasonNotGranted}}}}, allowed, nil, v1alpha1.ReasonNotGranted},
		"too large":                 {&OldShape{Violations: enforced(policy.RuleCPUMaximum)}, allowed, nil, v1alpha1.ReasonPolicyViolated},
		"too many":                  {&OldShape{Violations: enforced(policy.RuleReplicasMaximum)}, allowed, nil, ""},
		"only a warning":            {&OldShape{Violations: []policy.Violation{{Rule: policy.RuleCPUMaximum}}}, allowed, nil, ""},
		"policies are not known":    {&OldShape{PoliciesUnread: "away"}, allowed, nil, v1alpha1.ReasonPolicyUnavailable},
		"nothing was ever admitted": {&OldShape{}, policy.Admission{NoCreate: true, Reason: v1alpha1.ReasonPolicyViolated}, nil, v1alpha1.ReasonPolicyViolated},
		"its user data is denied": {&OldShape{Shape: Shape{Spec: v1alpha1.VmGroupSpec{UserDataSecretRef: &v1alpha1.LocalObjectReference{Name: "x"}}}}, allowed,
			func(s *Snapshot) { s.UserDataDenied = true }, v1alpha1.ReasonUserDataDenied},
		"its user data is deleted": {&OldShape{Shape: Shape{Spec: v1alpha1.VmGroupSpec{UserDataSecretRef: &v1alpha1.LocalObjectReference{Name: "x"}}}}, allowed,
			func(s *Snapshot) {
				s.UserData = map[string]*UserDataAnswer{"x": {Blocked: &plan.Blocker{Reason: v1alpha1.ReasonUserDataNotFound}}}
			}, v1alpha1.ReasonUserDataNotFound},
		"a VM with unreadable configuration": {&OldShape{}, allowed, func(s *Snapshot) { s.Observation.Unread = make([]vsphere.VM, 1) }, v1alpha1.ReasonInventoryIncomplete},
	} {
		s := edited()
		s.Old = nil
		if c.old != nil {
			c.old.Recorded = s.Group.Status.Revisions[0]
			s.Old = []OldShape{*c.old}
		}
		if c.change != nil {
			c.change(s)
		}
		shapes, got := s.shapes(c.admission, &Decision{Revision: s.Revision}), ""
		if b := shapes[0].Blocked; b != nil {
			got = b.Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", story, got, c.want)
		}
	}
}

// A group in the state of its spec looks up nothing for its former shapes, and a forged shape is not used.
func TestOnlyShapesThatVMsHaveAreLookedUp(t *testing.T) {
	s := edited()
	if old := s.OldRevisions(); len(old) != 1 || old[0].Template != "debian" {
		t.Errorf("older are %+v", old)
	}
	s.Group.Status.Revisions[0].Template = "mine"
	if old := s.OldRevisions(); len(old) != 0 {
		t.Errorf("a shape that is not what it says is believed: %+v", old)
	}
	s = edited()
	s.Revision = s.Group.Status.Revisions[0].Revision
	if old := s.OldRevisions(); len(old) != 0 {
		t.Errorf("a group that is as spec says has older shapes: %+v", old)
	}
}

func TestWhatAnUpdateMadeTooMuchLeavesBeforeItHasEnded(t *testing.T) {
	s := edited()
	s.Group.Status.Rollout = &v1alpha1.Rollout{Revision: "b", From: []string{"a"}}
	ended, tooMany := plan.Rollout{Revision: "b"}, plan.Rollout{Revision: "b", Surge: []string{"u"}, SurgeKnown: true}
	for story, c := range map[string]struct {
		plan plan.Plan
		from int
	}{
		"it has ended":            {plan.Plan{Rollout: ended, Desired: 3, Existing: 3}, 0},
		"one is too many":         {plan.Plan{Rollout: tooMany, Desired: 3, Existing: 4}, 1},
		"one leaves":              {plan.Plan{Rollout: ended, Desired: 3, Existing: 3, Doomed: []int32{3}}, 1},
		"another one has begun":   {plan.Plan{Rollout: plan.Rollout{Revision: "c", From: []string{"a", "b"}}, Desired: 3, Existing: 4}, 2},
		"another, of nothing yet": {plan.Plan{Rollout: plan.Rollout{Revision: "c"}, Desired: 3, Existing: 4}, 0},
	} {
		if got := s.recorded(&c.plan); got == nil || len(got.From) != c.from {
			t.Errorf("%s: recorded is %+v", story, got)
		} else if !slices.Equal(got.Surge, c.plan.Rollout.Surge) {
			t.Errorf("%s: of those that it added is recorded %q", story, got.Surge)
		}
	}
	if got := s.recorded(&plan.Plan{}); got != nil {
		t.Errorf("a plan that says nothing of it: %+v", got)
	}
}

func TestWhatAnEditDoesIsForetold(t *testing.T) {
	oneMissing := func(s *v1alpha1.VmGroupSpec) {
		s.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxUnavailable: ptr.To(intstr.FromInt32(1))}
	}
	retain := func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain }
	larger := func(s *v1alpha1.VmGroupSpec) { s.Template, s.CPU = "debian", 2 }
	network := func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: "dmz"} }
	linked := func(s *Snapshot) {
		for i := range s.Observation.VMs {
			s.Observation.VMs[i].Stamp.CloneMode = "Linked"
		}
	}
	disk := func(s *v1alpha1.VmGroupSpec) {
		s.Template, s.Disks = "debian", &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 40}}
	}
	for story, c := range map[string]struct {
		changes []func(*v1alpha1.VmGroupSpec)
		see     func(*Snapshot)
		want    Foretold
	}{
		"another template":                           {nil, nil, Foretold{Known: true, Replaced: 3, Surge: 1}},
		"another size":                               {[]func(*v1alpha1.VmGroupSpec){larger}, nil, Foretold{Known: true, Restarted: 3, Surge: 1}},
		"other sockets":                              {[]func(*v1alpha1.VmGroupSpec){func(s *v1alpha1.VmGroupSpec) { s.Template, s.CoresPerSocket = "debian", 1 }}, nil, Foretold{Known: true, Restarted: 3, Surge: 1}},
		"a larger disk":                              {[]func(*v1alpha1.VmGroupSpec){disk}, nil, Foretold{Known: true, Enlarged: 3}},
		"a larger disk and another size":             {[]func(*v1alpha1.VmGroupSpec){disk, larger}, nil, Foretold{Known: true, Restarted: 3, Surge: 1}},
		"a larger disk and another network":          {[]func(*v1alpha1.VmGroupSpec){disk, network}, nil, Foretold{Known: true, Enlarged: 3, Moved: 3, both: 3}},
		"a larger disk of linked clones":             {[]func(*v1alpha1.VmGroupSpec){disk}, linked, Foretold{Known: true, Linked: 3}},
		"another size, and one may be missing":       {[]func(*v1alpha1.VmGroupSpec){larger, oneMissing}, nil, Foretold{Known: true, Restarted: 3}},
		"another template, and one may be missing":   {[]func(*v1alpha1.VmGroupSpec){oneMissing}, nil, Foretold{Known: true, Replaced: 3, Surge: 1}},
		"another size, and nothing is destroyed":     {[]func(*v1alpha1.VmGroupSpec){larger, retain}, nil, Foretold{Known: true, Kept: 3}},
		"the same, and one may be missing":           {[]func(*v1alpha1.VmGroupSpec){larger, retain, oneMissing}, nil, Foretold{Known: true, Restarted: 3}},
		"another template, and nothing is destroyed": {[]func(*v1alpha1.VmGroupSpec){retain}, nil, Foretold{Known: true, Replaced: 3}},
		"one can grow while it runs, and one is off": {[]func(*v1alpha1.VmGroupSpec){larger}, func(s *Snapshot) {
			s.Observation.VMs[0].HotAdd.CPU, s.Observation.VMs[1].Power = true, vsphere.PoweredOff
		}, Foretold{Known: true, Restarted: 1, Grown: 2, Surge: 1}},
		"VMs are not restarted": {[]func(*v1alpha1.VmGroupSpec){larger, func(s *v1alpha1.VmGroupSpec) {
			s.UpdateStrategy = &v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot}
		}}, nil, Foretold{Known: true, Pending: 3}},
		"another network": {[]func(*v1alpha1.VmGroupSpec){func(s *v1alpha1.VmGroupSpec) {
			s.Template, s.Placement = "debian", &v1alpha1.Placement{Network: "dmz"}
		}}, nil, Foretold{Known: true, Moved: 3}},
		"another datastore": {[]func(*v1alpha1.VmGroupSpec){func(s *v1alpha1.VmGroupSpec) {
			s.Template, s.Placement = "debian", &v1alpha1.Placement{Datastore: "ssd"}
		}}, nil, Foretold{Known: true, Replaced: 3, Surge: 1}},
		"a VM that is as spec says, one that leaves, and one of unknown shape": {[]func(*v1alpha1.VmGroupSpec){larger}, func(s *Snapshot) {
			s.Observation.VMs[0].Stamp.Revision, s.Observation.VMs[1].Tombstone, s.Observation.VMs[2].Stamp.Revision = s.Revision, true, "1-unknown"
		}, Foretold{Known: true, Replaced: 1, Surge: 1}},
		"an older version wrote status": {nil, func(s *Snapshot) { s.Group.Status.Rollout = nil }, Foretold{Replaced: 3, Surge: 1}},
	} {
		s := edited(c.changes...)
		if c.see != nil {
			c.see(s)
		}
		if got := s.foretell(nil); got != c.want {
			t.Errorf("%s: %+v, want %+v", story, got, c.want)
		}
	}
}

// The spec at which a group is held has its old revision: another trigger is as little allowed as the rest of the edit.
func TestAHeldGroupKeepsItsRevisionWhateverTriggerIsSet(t *testing.T) {
	s := edited(func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: "again"} })
	was := s.Group.Status.Revisions[0]
	s.Admitted = &v1alpha1.Admitted{Revision: was.Revision, Replicas: 3, VMShape: v1alpha1.VMShape{CPU: was.CPU, Memory: was.Memory, Template: was.Template}}
	s.Group.Status.Admitted = s.Admitted
	s.Violations = []policy.Violation{{Field: "spec.template", Value: "debian-13", Rule: policy.RuleTemplateAllowed, Enforced: true}}
	d := Decide(s)
	if d.Step != Act || d.Revision != was.Revision || len(d.Plan.Actions) > 0 {
		t.Errorf("decided %s with revision %s and %+v, want revision %s", d.Step, d.Revision, d.Plan.Actions, was.Revision)
	}
	if r := d.Status.Rollout; r == nil || r.Revision != s.Revision || !slices.Equal(r.From, []string{was.Revision}) {
		t.Errorf("the edit is recorded as %+v", r)
	}
}
