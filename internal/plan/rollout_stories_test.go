package plan

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// saga describes an update in short form: revisions are called a, b, c, ... in order of appearance.
type saga struct {
	*sim
	text      strings.Builder
	last      string
	update    string
	revisions []string
}

func (s *saga) note(format string, args ...any) { fmt.Fprintf(&s.text, "# "+format+"\n", args...) }

// letter names a revision.
func (s *saga) letter(revision string) string {
	at := slices.Index(s.revisions, revision)
	if at < 0 {
		at, s.revisions = len(s.revisions), append(s.revisions, revision)
	}
	return string(rune('a' + at))
}

func (s *saga) until(done func(Plan) bool) {
	s.t.Helper()
	s.run(func(p Plan) bool {
		s.tell(p)
		return done(p)
	})
	s.text.WriteString("\n")
}

// looks runs some passes.
func (s *saga) looks(n int) {
	for range n {
		s.tell(s.step(nil))
		s.tick()
	}
	s.text.WriteString("\n")
}

func (s *saga) tell(p Plan) {
	vms := make([]string, 0, len(p.VMs))
	for _, v := range p.VMs {
		vms = append(vms, fmt.Sprintf("%d%s %s", v.Ordinal, s.letter(v.Revision), v.Phase))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d available | %s\n", p.Ready, p.Desired, strings.Join(vms, ", "))
	for _, blocker := range p.Blockers {
		if blocker.Message != p.Update.Message {
			fmt.Fprintf(&b, "          ! %s: %s\n", blocker.Reason, s.named(blocker.Message))
		}
	}
	for _, a := range p.Actions {
		fmt.Fprintf(&b, "          > %s %s%s\n", a.Kind, a.Name, s.details(a))
	}
	if told := b.String(); told != s.last || s.update != p.Update.Message {
		if s.text.WriteString(s.now.Format(time.TimeOnly) + "  " + told); s.update != p.Update.Message {
			s.text.WriteString("          " + p.Update.Reason + ": " + s.named(p.Update.Message) + "\n")
		}
		s.last, s.update = told, p.Update.Message
	}
}

// details are the subject of a clone or a change.
func (s *saga) details(a Action) string {
	var b strings.Builder
	if a.Revision != "" {
		b.WriteString(" " + s.letter(a.Revision))
	}
	if a.Incarnation > 0 {
		fmt.Fprintf(&b, " (incarnation %d)", a.Incarnation)
	}
	if a.CPU > 0 {
		fmt.Fprintf(&b, " %d CPUs", a.CPU)
	}
	if a.MemoryMiB > 0 {
		fmt.Fprintf(&b, " %d MiB", a.MemoryMiB)
	}
	if a.Network != nil {
		fmt.Fprintf(&b, " network %q", *a.Network)
	}
	if a.Removal != "" {
		b.WriteString(" cause " + string(a.Removal))
	}
	return b.String()
}

func (s *saga) named(message string) string {
	for _, revision := range s.revisions {
		message = strings.ReplaceAll(message, revision, s.letter(revision))
	}
	return message
}

func number(n int) *intstr.IntOrString     { v := intstr.FromInt32(int32(n)); return &v }
func percent(n string) *intstr.IntOrString { v := intstr.FromString(n); return &v }

// strategy sets how updates disturb the group.
func (s *saga) strategy(surge, unavailable *intstr.IntOrString) *v1alpha1.UpdateStrategy {
	s.spec.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: surge, MaxUnavailable: unavailable}
	return s.spec.UpdateStrategy
}

func (s *saga) lose(name string)      { delete(s.vms, s.byName(name).Ref.Value) }
func (s *saga) template(n string)     { s.spec.Template = n }
func (s *saga) broken(n string)       { s.spec.Template = n; s.boots[n] = -1 }
func reason(r string) func(Plan) bool { return func(p Plan) bool { return p.Update.Reason == r } }
func updated(n int32) func(Plan) bool { return func(p Plan) bool { return p.Updated >= n } }
func blocked(r string) func(Plan) bool {
	return func(p Plan) bool {
		return slices.ContainsFunc(p.Blockers, func(b Blocker) bool { return b.Reason == r })
	}
}
func updating(p Plan) bool {
	return slices.ContainsFunc(p.VMs, func(v VMStatus) bool { return v.Updating })
}

// sagaTest is a saga of a group that starts with some VMs.
type sagaTest struct {
	name  string
	start int32
	tell  func(*saga)
}

var sagas = []sagaTest{
	{"surge", 3, func(s *saga) { s.template("debian-13"); s.until(settled) }},
	{"no-surge", 3, func(s *saga) {
		s.strategy(number(0), number(1))
		s.template("debian-13")
		s.until(settled)
		s.note("the ordinals are those of before")
	}},
	{"surge-and-unavailable", 4, func(s *saga) { s.strategy(number(1), number(1)); s.template("debian-13"); s.until(settled) }},
	{"percentages", 5, func(s *saga) {
		s.note("30%% of 5 are 2 more, and 30%% are 1 less")
		s.strategy(percent("30%"), percent("30%"))
		s.template("debian-13")
		s.until(settled)
	}},
	{"percentages-that-round-to-zero", 2, func(s *saga) {
		s.strategy(percent("0%"), percent("10%"))
		s.template("debian-13")
		s.until(settled)
	}},
	{"one-vm", 1, func(s *saga) { s.template("debian-13"); s.until(settled) }},
	{"edit-of-a-group-without-vms", 0, func(s *saga) { s.template("debian-13"); s.replicas(2); s.until(settled) }},
	{"trigger", 2, func(s *saga) { s.strategy(nil, nil).ReplaceTrigger = "rebuilt"; s.until(settled) }},
	{"restart", 3, func(s *saga) {
		s.strategy(number(0), number(1))
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"restart-with-an-extra-vm", 3, func(s *saga) { s.spec.CPU, s.spec.Memory = 4, 8; s.until(settled) }},
	{"restart-with-an-extra-vm-oldest-first", 2, func(s *saga) {
		s.spec.ScaleDown = &v1alpha1.ScaleDown{Order: v1alpha1.ScaleDownOldest}
		s.spec.CPU = 1
		s.until(settled)
		s.note("who made up for the others left, though the oldest leave first")
	}},
	{"restart-off", 2, func(s *saga) {
		s.spec.PowerState = v1alpha1.PoweredOff
		s.until(settled)
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"replace-off", 2, func(s *saga) {
		s.spec.PowerState = v1alpha1.PoweredOff
		s.until(settled)
		s.template("debian-13")
		s.until(settled)
	}},
	{"hot", 3, func(s *saga) {
		s.hot("web-0", "web-1", "web-2")
		s.strategy(nil, nil).Resize = v1alpha1.ResizeHot
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"hot-where-it-can", 3, func(s *saga) {
		s.hot("web-0", "web-2")
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"hot-refused", 2, func(s *saga) {
		s.strategy(number(0), number(1))
		s.hot("web-0", "web-1")
		s.byName("web-1").stubborn = true
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"hot-refused-and-pending", 1, func(s *saga) {
		s.strategy(number(0), number(1)).Resize = v1alpha1.ResizeHot
		s.hot("web-0")
		s.byName("web-0").stubborn = true
		s.spec.CPU = 4
		s.until(reason(v1alpha1.ReasonRestartPending))
		s.looks(3)
	}},
	{"hot-and-pending", 2, func(s *saga) {
		s.hot("web-0")
		s.strategy(nil, nil).Resize = v1alpha1.ResizeHot
		s.spec.Memory = 8
		s.until(reason(v1alpha1.ReasonRestartPending))
		s.note("somebody shuts web-1 down")
		s.byName("web-1").Power = vsphere.PoweredOff
		s.until(settled)
	}},
	{"recreate", 2, func(s *saga) {
		s.hot("web-0", "web-1")
		s.strategy(nil, nil).Resize = v1alpha1.ResizeRecreate
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"network", 3, func(s *saga) { s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}; s.until(settled) }},
	{"privilege-that-lacks", 2, func(s *saga) {
		s.denies, s.lacks = true, []string{vsphere.PrivilegeCPUs}
		s.note("nothing is stopped, and one VM is tried as it is, to say what is missing")
		s.spec.CPU = 4
		s.looks(6)
		s.note("the privilege is granted; what was found before says otherwise still")
		s.denies = false
		s.until(settled)
	}},
	{"privilege-that-was-taken-away", 3, func(s *saga) {
		s.strategy(number(0), number(2))
		s.denies = true
		s.note("nobody knew: what was stopped is started as it is, and no other VM is stopped")
		s.spec.CPU = 4
		s.looks(14)
		s.denies = false
		s.until(settled)
	}},
	{"privilege-that-was-taken-away-beside-an-extra-vm", 2, func(s *saga) {
		s.denies = true
		s.spec.CPU = 4
		s.looks(14)
		s.note("the extra VM stays until the others are changed")
		s.denies = false
		s.until(settled)
	}},
	{"network-and-a-restart", 4, func(s *saga) {
		s.note("two may be missing; of four, two get another network, and so do two that have to be restarted, for their size")
		s.strategy(number(0), number(2))
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.until(updated(2))
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"network-of-vms-of-another-size", 3, func(s *saga) {
		s.note("somebody gave web-0 more memory and web-1 less, and shut web-2 down and gave it more")
		s.byName("web-0").MemoryMiB *= 2
		s.byName("web-1").MemoryMiB /= 2
		s.spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
		s.byName("web-2").Power, s.byName("web-2").CPU = vsphere.PoweredOff, 8
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.looks(6)
		s.spec.Repair = nil
		s.until(settled)
		s.note("those that run keep the size that somebody gave them: %d and %d MiB", s.byName("web-0").MemoryMiB, s.byName("web-1").MemoryMiB)
	}},
	{"network-and-min-ready-seconds", 2, func(s *saga) {
		s.spec.Readiness.MinReadySeconds = 20
		s.until(settled)
		s.note("a VM that was given another network has to be ready there for as long before the next one is")
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.until(settled)
	}},
	{"network-undone", 3, func(s *saga) {
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.looks(1)
		s.byName("web-0").boot = 100
		s.looks(2)
		s.note("undo: the guest that was cut off is the first to return, though one is missing")
		s.spec.Placement = nil
		s.looks(1)
		s.byName("web-0").boot = 1
		s.until(settled)
	}},
	{"network-undone-on-its-way", 2, func(s *saga) {
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.tell(s.step(nil))
		s.note("undo, before vCenter has changed web-0: for a moment all VMs have the revision of spec")
		s.spec.Placement = nil
		s.looks(1)
		s.until(settled)
	}},
	{"network-that-cuts-guests-off", 3, func(s *saga) {
		s.spec.Placement = &v1alpha1.Placement{Network: "dmz"}
		s.looks(1)
		s.byName("web-0").boot = 100
		s.looks(4)
	}},
	{"size-and-template", 2, func(s *saga) { s.spec.CPU = 4; s.template("debian-13"); s.until(settled) }},
	{"stop-on-failure", 3, func(s *saga) {
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.note("undo")
		s.template("debian-12")
		s.until(settled)
	}},
	{"stop-without-surge", 3, func(s *saga) {
		s.strategy(number(0), number(1))
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.looks(3)
	}},
	{"stop-in-a-restart", 2, func(s *saga) {
		s.strategy(number(0), number(1))
		s.spec.CPU = 4
		s.until(updating)
		s.byName("web-1").boot = -1
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.note("undo: web-1 gets its old size, and boots")
		s.spec.CPU = 2
		s.byName("web-1").boot = 1
		s.until(settled)
	}},
	{"more-failures-allowed", 4, func(s *saga) {
		s.strategy(number(2), number(0)).MaxFailures = 2
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
	}},
	{"waits-for-a-vm-that-failed", 2, func(s *saga) {
		s.strategy(nil, nil).MaxFailures = 2
		s.broken("debian-13")
		s.until(updated(1))
		s.looks(10)
		s.note("the template is repaired, and the VM deleted in vCenter: another comes in its place")
		s.boots["debian-13"] = 1
		s.lose("web-2")
		s.until(settled)
	}},
	{"failed-value", 2, func(s *saga) {
		s.spec.Readiness.GuestInfo = &v1alpha1.GuestInfoGate{Key: "guestinfo.ready", Value: "yes", FailedValue: "no"}
		s.guests("yes")
		s.until(settled)
		s.template("debian-13")
		s.until(updated(1))
		s.looks(2)
		s.note("the guest of web-2 says that it will not do")
		s.byName("web-2").GuestInfo, s.byName("web-2").GuestInfoKnown = "no", true
		s.until(reason(v1alpha1.ReasonRolloutStopped))
	}},
	{"fix-after-a-failure", 2, func(s *saga) {
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.template("debian-14")
		s.until(settled)
	}},
	{"takeover-after-a-failure", 2, func(s *saga) {
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.crash()
		s.note("another replica takes over; nothing more is done")
		s.looks(3)
	}},
	{"takeover-while-a-guest-boots", 2, func(s *saga) {
		s.broken("debian-13")
		s.until(updated(1))
		s.looks(4)
		s.crash()
		s.note("another replica takes over; the time that web-2 has is not made longer")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
	}},
	{"lost-while-stopped", 3, func(s *saga) {
		s.strategy(number(1), number(0))
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.note("an old VM is lost, and returns as it was; so does the one that failed, in no other way")
		s.lose("web-1")
		s.looks(8)
		s.lose("web-3")
		s.looks(5)
	}},
	{"undo-half-way", 4, func(s *saga) {
		s.template("debian-13")
		s.until(updated(2))
		s.template("debian-12")
		s.until(settled)
	}},
	{"undo-under-a-tightened-policy", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.note("debian-13 is forbidden, and the template set back")
		s.forbidden["debian-13"] = true
		s.looks(3)
		s.template("debian-12")
		s.until(settled)
	}},
	{"edit-that-a-policy-holds", 2, func(s *saga) {
		s.forbidden["debian-13"] = true
		s.template("debian-13")
		s.looks(3)
		s.note("it is allowed: the edit was seen before")
		s.forbidden = map[string]bool{}
		s.until(settled)
	}},
	{"second-edit", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.template("debian-14")
		s.until(settled)
	}},
	{"scale-up", 2, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.note("no new VM has been available: the third and the fourth are as those before")
		s.replicas(4)
		s.until(settled)
	}},
	{"scale-up-later", 2, func(s *saga) {
		s.template("debian-13")
		s.until(updated(2))
		s.replicas(4)
		s.until(settled)
	}},
	{"shrink", 5, func(s *saga) {
		s.template("debian-13")
		s.until(updated(2))
		s.note("an autoscaler takes 2 away: older ones")
		s.replicas(3)
		s.until(settled)
	}},
	{"shrink-of-a-broken-one", 4, func(s *saga) {
		s.broken("debian-13")
		s.until(reason(v1alpha1.ReasonRolloutStopped))
		s.note("one less is wanted; what does not boot leaves with it")
		s.replicas(3)
		s.looks(14)
	}},
	{"scale-to-zero", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.replicas(0)
		s.until(settled)
	}},
	{"repair", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.note("an older VM is lost, and returns as it was")
		s.lose("web-0")
		s.until(settled)
	}},
	{"observe", 2, func(s *saga) {
		s.spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
		s.spec.CPU = 4
		s.until(updating)
		s.crash()
		s.note("a VM that was stopped for the update is started by whoever goes on, though nothing is repaired")
		s.until(settled)
	}},
	{"too-many-unhealthy", 3, func(s *saga) {
		s.strategy(number(0), number(1))
		s.spec.Repair = &v1alpha1.Repair{MaxUnhealthy: number(0)}
		s.template("debian-13")
		s.looks(1)
		s.byName("web-0").Power = vsphere.PoweredOff
		s.looks(8)
		s.spec.Repair = nil
		s.until(settled)
	}},
	{"host-away", 3, func(s *saga) {
		s.byName("web-1").Connection = vsphere.Disconnected
		s.template("debian-13")
		s.looks(12)
		s.byName("web-1").Connection = vsphere.Connected
		s.until(settled)
	}},
	{"pause", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(2))
		s.strategy(nil, nil).Paused = true
		s.looks(8)
		s.note("a VM that is lost meanwhile returns as it was")
		s.lose("web-0")
		s.looks(6)
		s.strategy(nil, nil)
		s.until(settled)
	}},
	{"pause-without-room", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(2))
		s.strategy(nil, nil).Paused = true
		s.looks(8)
		s.note("others took the room that the fourth VM had: none returns for one that is lost, and the three that are wanted are there")
		s.room = SurgeRoom{Blocker: Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "VmGroupLimits \"team\" has room for 0 more CPUs."}}
		s.looks(2)
		s.lose("web-0")
		s.looks(6)
	}},
	{"pause-in-a-restart", 2, func(s *saga) {
		s.strategy(number(0), number(1))
		s.spec.CPU = 4
		s.until(func(p Plan) bool {
			return slices.ContainsFunc(p.VMs, func(v VMStatus) bool { return v.Updating && v.Power == vsphere.PoweredOff })
		})
		s.tasks = nil
		s.note("what was stopped is started as it is")
		s.spec.UpdateStrategy.Paused = true
		s.until(settled)
	}},
	{"takeover", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.crash()
		s.until(updated(2))
		s.crash()
		s.until(settled)
	}},
	{"takeover-in-a-restart", 2, func(s *saga) {
		s.spec.CPU = 4
		s.until(updating)
		s.crash()
		s.looks(1)
		s.crash()
		s.until(settled)
	}},
	{"quota-without-room", 3, func(s *saga) {
		s.room = SurgeRoom{Blocker: Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "VmGroupLimits \"team\" has room for 0 more CPUs."}}
		s.template("debian-13")
		s.looks(3)
		s.note("one may be missing: no room is needed")
		s.strategy(number(1), number(1))
		s.until(settled)
	}},
	{"quota-without-room-for-a-restart", 2, func(s *saga) {
		s.room = SurgeRoom{Blocker: Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "VmGroupLimits \"team\" has room for 0 more CPUs."}}
		s.spec.CPU = 4
		s.looks(3)
		s.room = muchRoom
		s.until(settled)
	}},
	{"template-gone", 3, func(s *saga) {
		s.strategy(number(0), number(1))
		s.absent["debian-13"] = true
		s.template("debian-13")
		s.looks(3)
		s.absent = map[string]bool{}
		s.until(settled)
	}},
	{"old-template-gone", 2, func(s *saga) {
		s.boots["debian-13"] = 3
		s.template("debian-13")
		s.absent["debian-12"] = true
		s.until(updated(1))
		s.note("an older VM is lost: it cannot return, until the new ones have shown that they boot")
		s.lose("web-0")
		s.until(settled)
	}},
	{"guest-that-does-not-shut-down", 2, func(s *saga) {
		s.byName("web-0").slow = -1
		s.spec.Shutdown = &v1alpha1.Shutdown{TimeoutSeconds: 30}
		s.template("debian-13")
		s.until(settled)
	}},
	{"guest-that-does-not-shut-down-for-a-restart", 1, func(s *saga) {
		s.byName("web-0").slow = -1
		s.spec.Shutdown = &v1alpha1.Shutdown{TimeoutSeconds: 30}
		s.strategy(number(0), number(1))
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"inventory-away", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.blind = true
		s.looks(3)
		s.blind = false
		s.until(settled)
	}},
	{"member-away", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(2))
		s.tick()
		s.note("the API server of the group's cluster does not answer for longer than a guest may take: what is told below is asked of nobody")
		s.silent = true
		before := s.powers()
		s.looks(9)
		if after := s.powers(); after != before {
			s.t.Fatalf("meanwhile: %s, before: %s", after, before)
		}
		s.note("it is back: the VM that booted meanwhile has not failed")
		s.silent = false
		s.until(settled)
	}},
	{"member-away-in-a-restart", 2, func(s *saga) {
		s.strategy(number(0), number(1))
		s.spec.CPU = 4
		s.until(updating)
		s.tick()
		s.note("its API server does not answer any more; web-1 is off by now, and what is told below is asked of nobody")
		s.silent = true
		before := s.powers()
		s.looks(9)
		if after := s.powers(); after != before {
			s.t.Fatalf("meanwhile: %s, before: %s", after, before)
		}
		s.note("it is back")
		s.silent = false
		s.until(settled)
	}},
	{"edit-while-nothing-is-seen", 2, func(s *saga) {
		s.blind = true
		s.template("debian-13")
		s.looks(2)
		s.blind = false
		s.until(settled)
	}},
	{"group-paused", 2, func(s *saga) {
		s.paused = true
		s.template("debian-13")
		s.looks(2)
		s.paused = false
		s.until(settled)
	}},
	{"deletion", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.deleting = true
		s.until(isGone)
	}},
	{"retain", 2, func(s *saga) {
		s.strategy(number(0), number(1))
		s.spec.DeletionPolicy = v1alpha1.DeletionRetain
		s.template("debian-13")
		s.until(blocked(v1alpha1.ReasonRetainForbidsReplacement))
		s.note("what can be changed in place is")
		s.template("debian-12")
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"retain-and-a-restart", 2, func(s *saga) {
		s.spec.DeletionPolicy = v1alpha1.DeletionRetain
		s.spec.CPU = 4
		s.until(blocked(v1alpha1.ReasonRetainForbidsReplacement))
		s.looks(3)
		s.strategy(nil, number(1))
		s.until(settled)
		s.note("nobody was let go")
	}},
	{"retain-set-in-a-restart", 2, func(s *saga) {
		s.spec.CPU = 4
		s.until(updating)
		s.note("the VM that makes up for the others is there already: it stays to the end, and is let go then")
		s.spec.DeletionPolicy = v1alpha1.DeletionRetain
		s.until(settled)
	}},
	{"strangers", 3, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.note("web-0 turns up in a revision that the update never knew: it stays as it is")
		stamp := *s.byName("web-0").Stamp
		stamp.Revision = "1-stranger"
		s.byName("web-0").Stamp = &stamp
		s.until(settled)
	}},
	{"loss-that-is-observed", 2, func(s *saga) {
		s.spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
		s.template("debian-13")
		s.until(updated(1))
		s.lose("web-0")
		s.looks(4)
		s.spec.Repair = nil
		s.until(settled)
	}},
	{"restart-and-min-ready-seconds", 2, func(s *saga) {
		s.spec.Readiness.MinReadySeconds = 20
		s.until(settled)
		s.spec.CPU = 4
		s.until(settled)
	}},
	{"on-delete", 2, func(s *saga) {
		s.strategy(nil, nil).Type = v1alpha1.UpdateOnDelete
		s.template("debian-13")
		s.looks(2)
		s.lose("web-0")
		s.until(settled)
		s.note("the rest is left to the operator")
		s.strategy(nil, nil)
		s.until(settled)
	}},
	{"on-delete-listed", 2, func(s *saga) {
		s.strategy(nil, nil).Type = v1alpha1.UpdateOnDelete
		s.template("debian-13")
		s.note("to list a VM alone does nothing")
		s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{"web-0"}}
		s.looks(3)
		s.note("as it says")
		s.replicas(1)
		s.until(settled)
		s.replicas(2)
		s.until(settled)
	}},
	{"on-delete-observed", 2, func(s *saga) {
		s.spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve}
		s.strategy(nil, nil).Type = v1alpha1.UpdateOnDelete
		s.template("debian-13")
		s.looks(2)
		s.note("as it says")
		s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{"web-0"}}
		s.replicas(1)
		s.until(settled)
		s.replicas(2)
		s.until(settled)
	}},
	{"wiped-status", 3, func(s *saga) {
		s.note("no VM is touched, and nothing starts by itself")
		s.known, s.rollout, s.shapes = nil, nil, nil
		s.spec.Template, s.seen.Template, s.admitted.Template = "debian-13", "debian-13", "debian-13"
		s.looks(3)
		s.strategy(nil, nil).ReplaceTrigger = "now"
		s.until(settled)
	}},
	{"restored-spec", 2, func(s *saga) {
		s.note("a backup brings spec and status of before back: VMs of a revision that the update never knew")
		spec, rollout, shapes := *s.spec.DeepCopy(), *s.rollout, slices.Clone(s.shapes)
		s.template("debian-13")
		s.until(settled)
		s.spec, s.seen, s.rollout, s.shapes = spec, spec, &rollout, shapes
		s.looks(3)
	}},
	{"restored-in-the-middle", 2, func(s *saga) {
		s.template("debian-13")
		s.until(updated(1))
		s.note("a backup is taken now; then the update is undone")
		spec, rollout, shapes := *s.spec.DeepCopy(), *s.rollout, slices.Clone(s.shapes)
		s.template("debian-12")
		s.until(settled)
		s.note("the backup brings an update back that had not ended: that goes on, as with a replica that takes over")
		s.spec, s.seen, s.rollout, s.shapes = spec, spec, &rollout, shapes
		s.looks(3)
	}},
	{"min-ready-seconds", 2, func(s *saga) {
		s.spec.Readiness.MinReadySeconds = 30
		s.until(settled)
		s.template("debian-13")
		s.until(settled)
	}},
}

// powers returns the existing VMs, and their sizes and power states.
func (s *saga) powers() string {
	var b strings.Builder
	for _, vm := range s.sorted() {
		fmt.Fprintf(&b, "%s (%s) %s with %d CPUs, ", vm.Name, vm.Ref.Value, vm.Power, vm.CPU)
	}
	return b.String()
}

// hot makes VMs accept more resources while they are on.
func (s *saga) hot(names ...string) {
	for _, name := range names {
		vm := s.byName(name)
		vm.HotAdd.CPU, vm.HotAdd.Memory = true, true
	}
}

// guests makes all guests publish a value.
func (s *saga) guests(value string) {
	for _, vm := range s.sorted() {
		vm.GuestInfo, vm.GuestInfoKnown = value, true
	}
}

func TestSagas(t *testing.T) {
	for _, test := range slices.Concat(sagas, startupSagas) {
		t.Run(test.name, func(t *testing.T) {
			s := newSaga(t, test.start)
			test.tell(s)
			compareGolden(t, filepath.Join("testdata", "rollouts", test.name+".golden"), s.text.String())
		})
	}
}
