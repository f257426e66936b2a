package forecast

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var someTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// aGroup has three VMs.
func aGroup(change ...func(*v1alpha1.VmGroup)) *v1alpha1.VmGroup {
	g := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Name: "vg", Namespace: "apps", UID: "11111111-0000-4000-8000-000000000001"},
		Spec:       v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "linux-12", VCenter: "default", Replicas: new(int32(3))},
	}
	for _, c := range change {
		c(g)
	}
	return g
}

// sentences are those about an edit.
func sentences(before, after *v1alpha1.VmGroup, preview group.Preview) []string {
	return Sentences(Of(before, after, preview), before == nil)
}

// planned is the planner's result for a group whose earlier VMs run.
func planned(before, after *v1alpha1.VmGroup, change func(*plan.Input)) plan.Plan {
	in := plan.Input{
		Now: someTime, Name: after.Name, ID: vsphere.GroupID{Group: string(after.UID)}, Folder: vsphere.FolderRef("group-v7"), Spec: after.Spec,
		Revision: plan.Revision(after.Spec), UpdateRevision: plan.Revision(after.Spec), Doomed: before.Status.Deleting, Observation: vsphere.Observation{Complete: true},
	}
	if after.Spec.Paused {
		in.Paused = &plan.Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true: nothing is done until it is set to false"}
	}
	for ordinal := range *before.Spec.Replicas {
		uuid, ref := plan.InstanceUUID(in.ID.Key(), ordinal, 0), fmt.Sprintf("vm-%d", ordinal)
		power := vsphere.PoweredOn
		if before.Spec.PowerState == v1alpha1.PoweredOff {
			power = vsphere.PoweredOff
		}
		in.Observation.VMs = append(in.Observation.VMs, vsphere.VM{
			Ref: vsphere.VMRef(ref), Name: plan.VMName(after.Name, ordinal), InstanceUUID: uuid, Folder: in.Folder, Power: power, Connection: vsphere.Connected,
			ToolsRunning: ordinal == 0,
			Stamp:        &vsphere.Stamp{GroupID: in.ID, Ordinal: ordinal, Revision: plan.Revision(before.Spec), Created: someTime.Add(-time.Hour)},
		})
		known := plan.Known{Ordinal: ordinal, MoRef: ref, UUID: uuid, Revision: plan.Revision(before.Spec), ReadySince: someTime.Add(-time.Hour), Phase: v1alpha1.VMReady}
		if power == vsphere.PoweredOff {
			known.Phase = v1alpha1.VMStopped
		}
		in.Known = append(in.Known, known)
	}
	if change != nil {
		change(&in)
	}
	return plan.Compute(in)
}

func TestForecast(t *testing.T) {
	spec := func(f func(*v1alpha1.VmGroupSpec)) *v1alpha1.VmGroup {
		return aGroup(func(g *v1alpha1.VmGroup) { f(&g.Spec) })
	}
	same := func(*v1alpha1.VmGroupSpec) {}
	replicas := func(n int32) func(*v1alpha1.VmGroupSpec) {
		return func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(n) }
	}
	strategy := func(u v1alpha1.UpdateStrategy) func(*v1alpha1.VmGroupSpec) {
		return func(s *v1alpha1.VmGroupSpec) { s.UpdateStrategy = &u }
	}
	for _, c := range []struct {
		story         string
		before, after func(*v1alpha1.VmGroupSpec)
		status        v1alpha1.VmGroupStatus
		input         func(*plan.Input)
		update        group.Foretold
		want          []string
	}{
		{story: "nothing", before: same, after: same},
		{story: "more", before: same, after: replicas(5), want: []string{"this change adds 2 VMs"}},
		{story: "one more", before: same, after: replicas(4), want: []string{"this change adds 1 VM"}},
		{story: "fewer", before: same, after: replicas(2), want: []string{"this change removes 1 VM: vg-2"}},
		{
			story: "fewer, while removals are held", before: same, after: replicas(2),
			input: func(in *plan.Input) {
				in.Hold = &plan.RemovalHold{Blocker: plan.Blocker{Reason: v1alpha1.ReasonMassDeletion, Message: "too many VMs are to be removed at once"}}
			},
			want: []string{"too many VMs are to be removed at once"},
		},
		{story: "none", before: same, after: replicas(0), want: []string{"this change removes 3 VMs: vg-0, vg-1, vg-2"}},
		{
			story: "many fewer", before: replicas(60), after: replicas(2),
			want: []string{"this change removes 58 VMs: vg-2, vg-3, vg-4, vg-5, vg-6, vg-7, vg-8, vg-9, vg-10, vg-11, vg-12, vg-13, vg-14, vg-15, " +
				"vg-16, vg-17, vg-18, vg-19, vg-20, vg-21, vg-22, vg-23, vg-24, vg-25, vg-26 and 33 more"},
		},
		{
			story: "fewer, retained", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.Replicas, s.DeletionPolicy = new(int32(1)), v1alpha1.DeletionRetain
			},
			want: []string{"this change retains 2 VMs (kept in vCenter): vg-1, vg-2"},
		},
		{
			story: "a chosen one", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.Replicas, s.ScaleDown = new(int32(2)), &v1alpha1.ScaleDown{DeleteFirst: []string{"vg-0"}}
			},
			want: []string{"this change removes 1 VM: vg-0"},
		},
		{
			story: "one was on its way out before", before: same, after: replicas(1),
			status: v1alpha1.VmGroupStatus{Deleting: []int32{2}}, want: []string{"this change removes 1 VM: vg-1"},
		},
		{
			story: "off", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.PowerState = v1alpha1.PoweredOff },
			want: []string{"this change powers off 3 VMs"},
		},
		{
			story: "on", before: func(s *v1alpha1.VmGroupSpec) { s.PowerState = v1alpha1.PoweredOff }, after: same,
			want: []string{"this change powers on 3 VMs"},
		},
		{
			story: "off and fewer", before: same,
			after: func(s *v1alpha1.VmGroupSpec) { s.PowerState, s.Replicas = v1alpha1.PoweredOff, new(int32(2)) },
			want:  []string{"this change removes 1 VM: vg-2 and powers off 2 VMs"},
		},
		{
			story: "off, and one was on its way out before", before: same,
			after:  func(s *v1alpha1.VmGroupSpec) { s.PowerState, s.Replicas = v1alpha1.PoweredOff, new(int32(2)) },
			status: v1alpha1.VmGroupStatus{Deleting: []int32{2}}, input: func(in *plan.Input) { in.Observation.VMs[2].Tombstone = true },
			want: []string{"this change powers off 2 VMs"},
		},
		{
			story: "another size", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.CPU = 4 }, update: group.Foretold{Known: true, Grown: 2, Restarted: 1, Surge: 1},
			want: []string{"this change restarts 1 VM to resize, resizes 2 VMs in place without a restart and needs quota for 1 more meanwhile"},
		},
		{
			story: "a larger disk", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.CPU = 4 }, update: group.Foretold{Known: true, Enlarged: 3},
			want: []string{"this change grows disks of 3 VMs without a restart"},
		},
		{
			story: "a larger disk of linked clones", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.CPU = 4 }, update: group.Foretold{Known: true, Enlarged: 1, Linked: 2},
			want: []string{"this change grows disks of 1 VM without a restart",
				"2 VMs keep the root disk: linked clones share it with the template, and vCenter does not grow it; a new value of spec.updateStrategy.replaceTrigger replaces all VMs"},
		},
		{
			story: "another template and more", before: same,
			after:  func(s *v1alpha1.VmGroupSpec) { s.Template, s.Replicas = "linux-13", new(int32(4)) },
			update: group.Foretold{Known: true, Replaced: 3, Surge: 1},
			want:   []string{"this change adds 1 VM, replaces 3 VMs one by one and needs quota for 1 more meanwhile"},
		},
		{
			story: "another template, several at a time", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.Template, s.UpdateStrategy = "linux-13", &v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromString("50%"))}
			},
			update: group.Foretold{Known: true, Replaced: 3, Surge: 2},
			want:   []string{"this change replaces 3 VMs and needs quota for 2 more meanwhile"},
		},
		{
			story: "another template, without more VMs", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.Template, s.UpdateStrategy = "linux-13", &v1alpha1.UpdateStrategy{MaxSurge: new(intstr.FromInt32(0)), MaxUnavailable: new(intstr.FromInt32(1))}
			},
			update: group.Foretold{Known: true, Replaced: 3},
			want:   []string{"this change replaces 3 VMs one by one"},
		},
		{
			story: "another network", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.Placement = &v1alpha1.Placement{Network: "dmz"} },
			update: group.Foretold{Known: true, Moved: 3}, want: []string{"this change connects 3 VMs to another network without a restart"},
		},
		{
			story: "another size, and no restarts", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.CPU, s.UpdateStrategy = 4, &v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot}
			},
			update: group.Foretold{Known: true, Pending: 2, Grown: 1},
			want: []string{
				"this change resizes 1 VM in place without a restart",
				"2 VMs keep the size until powered off: it cannot change while a VM runs, and spec.updateStrategy.resize is Hot",
			},
		},
		{
			story: "another template, and nothing is to be destroyed", before: same,
			after:  func(s *v1alpha1.VmGroupSpec) { s.Template, s.DeletionPolicy = "linux-13", v1alpha1.DeletionRetain },
			update: group.Foretold{Known: true, Replaced: 3},
			want:   []string{"3 VMs keep an older revision: only another VM could be like spec, and spec.deletionPolicy is Retain"},
		},
		{
			story: "another size, and no VM may be added or be missing", before: same,
			after:  func(s *v1alpha1.VmGroupSpec) { s.CPU, s.DeletionPolicy = 4, v1alpha1.DeletionRetain },
			update: group.Foretold{Known: true, Kept: 2, Grown: 1},
			want: []string{
				"this change resizes 1 VM in place without a restart",
				"2 VMs keep the size until spec.updateStrategy.maxUnavailable is 1: no VM is added to make up for one that restarts, since spec.deletionPolicy is Retain",
			},
		},
		{
			story: "another template, and people replace", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.Template, s.UpdateStrategy = "linux-13", &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}
			},
			update: group.Foretold{Known: true, Replaced: 1}, want: []string{"1 VM keeps an older revision until deleted: spec.updateStrategy.type is OnDelete"},
		},
		{
			story: "another template, and updates wait", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.Template, s.UpdateStrategy = "linux-13", &v1alpha1.UpdateStrategy{Paused: true}
			},
			update: group.Foretold{Known: true, Replaced: 2}, want: []string{"2 VMs keep an older revision for now: spec.updateStrategy.paused is true"},
		},
		{
			story: "another template, and the former shape is unknown", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.Template = "linux-13" },
			update: group.Foretold{Replaced: 2},
			want:   []string{"2 VMs keep an older revision: status does not have their shape; a new value of spec.updateStrategy.replaceTrigger replaces all VMs"},
		},
		{
			story: "how many VMs at a time, and nothing else", before: same,
			after:  strategy(v1alpha1.UpdateStrategy{MaxFailures: 2, MaxSurge: new(intstr.FromInt32(3)), MaxUnavailable: new(intstr.FromInt32(1))}),
			update: group.Foretold{Known: true, Replaced: 2, Surge: 2},
		},
		{
			story: "defaults are written out", before: same,
			after: func(s *v1alpha1.VmGroupSpec) {
				s.DeletionPolicy, s.UpdateStrategy = v1alpha1.DeletionDelete, &v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateRolling, Resize: v1alpha1.ResizeRestart, MaxFailures: 1}
			},
			update: group.Foretold{Known: true, Replaced: 2, Surge: 1},
		},
		{
			story: "a paused update is resumed", before: strategy(v1alpha1.UpdateStrategy{Paused: true}), after: strategy(v1alpha1.UpdateStrategy{}),
			update: group.Foretold{Known: true, Replaced: 48, Surge: 1},
			want:   []string{"this change replaces 48 VMs one by one and needs quota for 1 more meanwhile"},
		},
		{
			story: "an update is paused", before: same, after: strategy(v1alpha1.UpdateStrategy{Paused: true}), update: group.Foretold{Known: true, Replaced: 48, Surge: 1},
			want: []string{"48 VMs keep an older revision for now: spec.updateStrategy.paused is true"},
		},
		{
			story: "a paused group is resumed", before: func(s *v1alpha1.VmGroupSpec) { s.Paused = true }, after: same, update: group.Foretold{Known: true, Replaced: 2, Surge: 1},
			want: []string{"this change replaces 2 VMs one by one and needs quota for 1 more meanwhile"},
		},
		{
			story: "a group is paused while an update is under way", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.Paused = true },
			update: group.Foretold{Known: true, Replaced: 2, Surge: 1}, want: []string{"spec.paused is true: nothing is done until it is set to false"},
		},
		{
			story: "it is no longer left to people", before: strategy(v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete}), after: same,
			update: group.Foretold{Known: true, Replaced: 48, Surge: 1},
			want:   []string{"this change replaces 48 VMs one by one and needs quota for 1 more meanwhile"},
		},
		{
			story: "VMs may be destroyed again",
			before: func(s *v1alpha1.VmGroupSpec) {
				s.DeletionPolicy, s.UpdateStrategy = v1alpha1.DeletionRetain, &v1alpha1.UpdateStrategy{MaxUnavailable: new(intstr.FromInt32(1))}
			},
			after:  strategy(v1alpha1.UpdateStrategy{MaxUnavailable: new(intstr.FromInt32(1))}),
			update: group.Foretold{Known: true, Replaced: 48, Surge: 1},
			want:   []string{"this change replaces 48 VMs and needs quota for 1 more meanwhile"},
		},
		{
			story: "VMs may be restarted", before: strategy(v1alpha1.UpdateStrategy{Resize: v1alpha1.ResizeHot}), after: same,
			update: group.Foretold{Known: true, Restarted: 48, Surge: 1},
			want:   []string{"this change restarts 48 VMs one by one to resize and needs quota for 1 more meanwhile"},
		},
		{
			story: "one may be missing where none is added", before: func(s *v1alpha1.VmGroupSpec) { s.DeletionPolicy = v1alpha1.DeletionRetain },
			after: func(s *v1alpha1.VmGroupSpec) {
				s.DeletionPolicy, s.UpdateStrategy = v1alpha1.DeletionRetain, &v1alpha1.UpdateStrategy{MaxUnavailable: new(intstr.FromInt32(1))}
			},
			update: group.Foretold{Known: true, Restarted: 2}, want: []string{"this change restarts 2 VMs to resize"},
		},
		{
			story: "more may fail", before: same, after: strategy(v1alpha1.UpdateStrategy{MaxFailures: 2}), update: group.Foretold{Known: true, Replaced: 48, Surge: 1, Failed: 1},
			want: []string{"this change replaces 48 VMs one by one and needs quota for 1 more meanwhile"},
		},
		{
			story: "more may fail, and too many did", before: same, after: strategy(v1alpha1.UpdateStrategy{MaxFailures: 2}),
			update: group.Foretold{Known: true, Replaced: 48, Surge: 1, Failed: 2},
		},
		{
			story: "an update that was stopped is paused", before: same, after: strategy(v1alpha1.UpdateStrategy{Paused: true}),
			update: group.Foretold{Known: true, Replaced: 48, Surge: 1, Failed: 1},
			want:   []string{"48 VMs keep an older revision: the update was stopped, since as many VMs did not become ready as spec.updateStrategy.maxFailures allows"},
		},
		{
			story: "it is resumed, and there is nothing to do", before: strategy(v1alpha1.UpdateStrategy{Paused: true}), after: same, update: group.Foretold{Known: true},
		},
		{
			story: "paused", before: same, after: func(s *v1alpha1.VmGroupSpec) { s.Paused, s.Replicas = true, new(int32(9)) },
			want: []string{"spec.paused is true: nothing is done until it is set to false"},
		},
		{
			story: "blocked", before: same, after: replicas(5),
			input: func(in *plan.Input) {
				in.CreateBlocked = &plan.Blocker{Reason: v1alpha1.ReasonNotSupported, Message: "template has no snapshot", Terminal: true}
			},
			want: []string{"template has no snapshot"},
		},
	} {
		t.Run(c.story, func(t *testing.T) {
			before, after := spec(c.before), spec(c.after)
			before.Status, after.Status = c.status, c.status
			got := sentences(before, after, group.Preview{Plan: planned(before, after, c.input), Update: c.update})
			if !slices.Equal(got, c.want) {
				t.Errorf("\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// TestForecastOfAHeldGroupForetellsNoUpdate: admission accepts an edit that breaks a policy no worse than before, and the operator holds it.
func TestForecastOfAHeldGroupForetellsNoUpdate(t *testing.T) {
	before := aGroup()
	after := aGroup(func(g *v1alpha1.VmGroup) { g.Spec.Template = "another" })
	preview := group.Preview{
		Plan: planned(before, after, nil), Update: group.Foretold{Known: true, Replaced: 3, Surge: 1},
		Held: &plan.Blocker{Reason: v1alpha1.ReasonPolicyViolated, Message: "spec.cpu: Invalid value: 2: exceeds the maximum 1"},
	}
	want := []string{"3 VMs keep an older revision: the operator holds the group at what was admitted before until spec complies; see condition PolicyCompliant"}
	if got := sentences(before, after, preview); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAnEditThatIsAcceptedAndNotDoneIsToldOnce: if VMs are known, the forecast reports it for them.
func TestAnEditThatIsAcceptedAndNotDoneIsToldOnce(t *testing.T) {
	const told = "this change is accepted, and not carried out until spec complies; see condition PolicyCompliant"
	before, same := aGroup(), aGroup(func(g *v1alpha1.VmGroup) { g.Spec.Paused = true })
	after := aGroup(func(g *v1alpha1.VmGroup) { g.Spec.Template = "another" })
	held := &plan.Blocker{Reason: v1alpha1.ReasonPolicyViolated}
	for _, c := range []struct {
		story      string
		old, group *v1alpha1.VmGroup
		preview    group.Preview
		want       string
	}{
		{"a new group", nil, after, group.Preview{NotDone: true}, ""},
		{"carried out", before, after, group.Preview{}, ""},
		{"no other shape", before, same, group.Preview{NotDone: true}, ""},
		{"nothing known of VMs", before, after, group.Preview{NotDone: true}, told},
		{"no VM", before, after, group.Preview{NotDone: true, Held: held}, told},
		{"VMs, with a forecast", before, after, group.Preview{NotDone: true, Held: held, Update: group.Foretold{Known: true, Replaced: 1}}, ""},
	} {
		if got := NotDone(c.old, c.group, c.preview); got != c.want {
			t.Errorf("%s: %q, want %q", c.story, got, c.want)
		}
	}
}

func TestForecastOfANewGroupSaysOnlyWhatStopsIt(t *testing.T) {
	none := aGroup(func(g *v1alpha1.VmGroup) { g.Spec.Replicas = new(int32(0)) })
	if got := sentences(nil, aGroup(), group.Preview{Plan: planned(none, aGroup(), nil)}); len(got) != 0 {
		t.Errorf("%q", got)
	}
	blocked := planned(none, aGroup(), func(in *plan.Input) {
		in.CreateBlocked = &plan.Blocker{Reason: v1alpha1.ReasonNotSupported, Message: "template has no snapshot"}
	})
	if got := sentences(nil, aGroup(), group.Preview{Plan: blocked}); !slices.Equal(got, []string{"template has no snapshot"}) {
		t.Errorf("%q", got)
	}
}
