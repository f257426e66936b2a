package plan

import (
	"flag"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// happening is one event for a group and its VMs: vm is one of them, name one that the group can use.
type happening struct {
	name string
	do   func(t *rapid.T, s *sim, vm *simVM, name string)
}

var happenings = []happening{
	{"scale", func(t *rapid.T, s *sim, _ *simVM, _ string) { s.replicas(rapid.Int32Range(0, 6).Draw(t, "replicas")) }},
	{"order", func(t *rapid.T, s *sim, _ *simVM, name string) {
		s.spec.ScaleDown = &v1alpha1.ScaleDown{DeleteFirst: []string{name}, Order: rapid.SampledFrom(
			[]v1alpha1.ScaleDownOrder{v1alpha1.ScaleDownNewest, v1alpha1.ScaleDownOldest}).Draw(t, "order")}
	}},
	{"resize", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.spec.CPU, s.spec.CoresPerSocket = rapid.Int32Range(1, 4).Draw(t, "cpu"), rapid.Int32Range(0, 2).Draw(t, "cores")
		if s.spec.CPU%max(s.spec.CoresPerSocket, 1) != 0 {
			s.spec.CoresPerSocket = 0 // the API refuses it
		}
	}},
	{"disk", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.spec.Disks = disksOf(rapid.SampledFrom([]int32{0, 20, 30}).Draw(t, "disk"), s.spec.Shape().DataDisks()...)
	}},
	{"data disks", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		data := rapid.SampledFrom([][]v1alpha1.DataDisk{nil, {{Name: "data", SizeGiB: 5}}, {{Name: "data", SizeGiB: 6}}, {{Name: "logs", SizeGiB: 1}, {Name: "data", SizeGiB: 5}}}).Draw(t, "data")
		s.spec.Disks = disksOf(s.spec.Shape().RootDiskGiB(), data...)
	}},
	{"snapshot", func(t *rapid.T, _ *sim, vm *simVM, _ string) {
		vm.snapshot, vm.ChangeVersion = rapid.Bool().Draw(t, "snapshot"), vm.ChangeVersion+"s"
	}},
	{"IDE", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.ide = true }},
	{"template", func(t *rapid.T, s *sim, _ *simVM, _ string) { s.spec.Template = anyTemplate(t) }},
	{"network", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.spec.Placement = &v1alpha1.Placement{Network: rapid.SampledFrom([]string{"", "lan", "dmz"}).Draw(t, "network")}
	}},
	{"strategy", func(t *rapid.T, s *sim, _ *simVM, _ string) { s.spec.UpdateStrategy = anyStrategy(t) }},
	{"readiness", func(t *rapid.T, s *sim, _ *simVM, _ string) { s.spec.Readiness = anyReadiness(t) }},
	{"hot add", func(t *rapid.T, s *sim, vm *simVM, _ string) {
		s.hotAdd = rapid.Bool().Draw(t, "hot add")
		vm.HotAdd.CPU, vm.HotAdd.Memory = s.hotAdd, s.hotAdd
	}},
	{"size", func(t *rapid.T, _ *sim, vm *simVM, _ string) { // a user changes it in vCenter
		vm.CPU, vm.MemoryMiB = rapid.Int32Range(1, 4).Draw(t, "cpu"), 1024*rapid.Int64Range(2, 6).Draw(t, "memory")
		vm.HotAdd.CoresPerSocket = 1
		vm.drifted, vm.ChangeVersion = true, vm.ChangeVersion+"-" // a replica that planned a change before gets a conflict
	}},
	{"stubborn", func(t *rapid.T, _ *sim, vm *simVM, _ string) { vm.stubborn = rapid.Bool().Draw(t, "stubborn") }},
	{"boots", func(t *rapid.T, s *sim, vm *simVM, _ string) {
		vm.boot = rapid.IntRange(-1, 4).Draw(t, "boot")
		s.boots[anyTemplate(t)] = rapid.IntRange(-1, 4).Draw(t, "boots")
	}},
	{"quota", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.room = SurgeRoom{VMs: rapid.Int32Range(0, 2).Draw(t, "room"), Blocker: Blocker{Reason: v1alpha1.ReasonQuotaExceeded, Message: "No room."}}
	}},
	{"privileges", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.denies = rapid.Bool().Draw(t, "denies")
		s.lacks = rapid.SampledFrom([][]string{nil, {vsphere.PrivilegeCPUs}, {vsphere.PrivilegeDevices}, {vsphere.PrivilegeDisks}, {vsphere.PrivilegeCPUs, vsphere.PrivilegeMemory}}).Draw(t, "lacks")
	}},
	{"no quota", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.room = muchRoom }},
	{"template gone", func(t *rapid.T, s *sim, _ *simVM, _ string) { s.absent[anyTemplate(t)] = true }},
	{"template back", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.absent = map[string]bool{} }},
	{"forbid", func(t *rapid.T, s *sim, _ *simVM, _ string) { s.forbidden[anyTemplate(t)] = true }},
	{"allow", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.forbidden = map[string]bool{} }},
	{"wipe status", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.rollout, s.shapes = nil, nil
		if rapid.Bool().Draw(t, "all") {
			s.known, s.doomed, s.listed, s.gate = nil, nil, nil, Gate{}
		}
	}},
	{"save", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.save() }},
	{"restore", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.restore() }},
	{"power state", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.spec.PowerState = rapid.SampledFrom(
			[]v1alpha1.PowerState{v1alpha1.PoweredOn, v1alpha1.PoweredOff}).Draw(t, "power")
	}},
	{"policy", func(t *rapid.T, s *sim, _ *simVM, _ string) {
		s.spec.DeletionPolicy = rapid.SampledFrom([]v1alpha1.DeletionPolicy{
			v1alpha1.DeletionDelete, v1alpha1.DeletionRetain}).Draw(t, "policy")
	}},
	{"observe", func(_ *rapid.T, s *sim, _ *simVM, _ string) {
		s.spec.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve, MaxUnhealthy: ptr(intstr.FromInt32(1))}
	}},
	{"enforce", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.spec.Repair = nil }},
	{"pause", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.paused = true }},
	{"resume", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.paused = false }},
	{"crash", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.crash() }},
	{"blind", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.blind = true }},
	{"see", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.blind = false }},
	{"delete", func(_ *rapid.T, s *sim, vm *simVM, _ string) { delete(s.vms, vm.Ref.Value) }},
	{"power off", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.Power = vsphere.PoweredOff }},
	{"suspend", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.Power = vsphere.Suspended }},
	{"power on", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.Power = vsphere.PoweredOn }},
	{"slow guest", func(t *rapid.T, _ *sim, vm *simVM, _ string) { vm.slow = rapid.IntRange(-1, 5).Draw(t, "slow") }},
	{"Tools", func(t *rapid.T, _ *sim, vm *simVM, _ string) { vm.ToolsRunning = rapid.Bool().Draw(t, "tools") }},
	{"shutdown", func(t *rapid.T, s *sim, _ *simVM, _ string) { s.spec.Shutdown = anyShutdown(t) }},
	{"host down", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.Connection = vsphere.Disconnected }},
	{"host up", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.Connection = vsphere.Connected }},
	{"unstamp", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.Stamp, vm.ours = nil, false }},
	{"move", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.Folder = away }},
	{"take away", func(_ *rapid.T, _ *sim, vm *simVM, _ string) { vm.away = true }},
	{"bring back", func(_ *rapid.T, s *sim, _ *simVM, _ string) { s.bringBack() }},
	{"rename", func(_ *rapid.T, s *sim, vm *simVM, name string) {
		if s.byName(name) == nil {
			vm.Name = name
		}
	}},
	{"put foreign", func(_ *rapid.T, s *sim, _ *simVM, name string) {
		if s.byName(name) == nil {
			s.put(vsphere.VM{Name: name, Folder: folder, Power: vsphere.PoweredOn, Connection: vsphere.Connected}, false)
		}
	}},
	{"hide", func(_ *rapid.T, s *sim, _ *simVM, name string) { s.hidden[name] = true }},
	{"copy", func(t *rapid.T, s *sim, vm *simVM, name string) {
		if vm.Stamp == nil {
			return
		}
		c := vm.VM
		c.InstanceUUID, c.Stamp = "", ptr(*vm.Stamp)
		if c.Name, c.Folder = fmt.Sprintf("copy-%d", s.next), away; rapid.Bool().Draw(t, "in folder") {
			c.Folder = folder
		}
		if s.byName(name) == nil && rapid.Bool().Draw(t, "takes a name") {
			c.Name = name
		}
		s.put(c, false)
	}},
	{"finish one task", func(_ *rapid.T, s *sim, _ *simVM, _ string) {
		if len(s.tasks) > 0 {
			task := s.tasks[0]
			s.tasks = s.tasks[1:]
			s.finish(task)
		}
	}},
}

// disksOf asks for data disks and a root disk of this size, or that of the template if it is 0.
func disksOf(rootGiB int32, data ...v1alpha1.DataDisk) *v1alpha1.Disks {
	if rootGiB == 0 && len(data) == 0 {
		return nil
	}
	disks := &v1alpha1.Disks{Data: data}
	if rootGiB != 0 {
		disks.Root = &v1alpha1.RootDisk{SizeGiB: rootGiB}
	}
	return disks
}

func anyTemplate(t *rapid.T) string {
	return rapid.SampledFrom([]string{"debian-12", "debian-13", "debian-14"}).Draw(t, "template")
}

func anyStrategy(t *rapid.T) *v1alpha1.UpdateStrategy {
	number := rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(1), intstr.FromInt32(2), intstr.FromString("0%"), intstr.FromString("50%")})
	surge, unavailable := number.Draw(t, "surge"), number.Draw(t, "unavailable")
	if surge == intstr.FromInt32(0) && unavailable == intstr.FromInt32(0) {
		unavailable = intstr.FromInt32(1) // the API rejects both
	}
	return &v1alpha1.UpdateStrategy{
		Type:     rapid.SampledFrom([]v1alpha1.UpdateStrategyType{"", v1alpha1.UpdateRolling, v1alpha1.UpdateRolling, v1alpha1.UpdateOnDelete}).Draw(t, "type"),
		MaxSurge: &surge, MaxUnavailable: &unavailable,
		Resize:         rapid.SampledFrom([]v1alpha1.ResizeMode{"", v1alpha1.ResizeHot, v1alpha1.ResizeRestart, v1alpha1.ResizeRecreate}).Draw(t, "resize"),
		Paused:         rapid.IntRange(0, 5).Draw(t, "paused") == 0,
		ReplaceTrigger: rapid.SampledFrom([]string{"", "", "1", "2"}).Draw(t, "trigger"),
		MaxFailures:    rapid.Int32Range(0, 2).Draw(t, "failures"),
	}
}

func anyReadiness(t *rapid.T) *v1alpha1.Readiness {
	return &v1alpha1.Readiness{
		Gate:            rapid.SampledFrom([]v1alpha1.ReadinessGate{"", v1alpha1.GatePoweredOn, v1alpha1.GateGuestHeartbeat, v1alpha1.GateGuestHeartbeat}).Draw(t, "gate"),
		MinReadySeconds: rapid.SampledFrom([]int32{0, 0, 15, 45}).Draw(t, "minReady"), StartupTimeoutSeconds: rapid.SampledFrom([]int32{0, 30, 60}).Draw(t, "startup"),
	}
}

// disturb causes one event.
func (s *sim) disturb(t *rapid.T) {
	vm := &simVM{} // no visible change
	if vms := s.sorted(); len(vms) > 0 {
		vm = vms[rapid.IntRange(0, len(vms)-1).Draw(t, "vm")]
	}
	names := make([]string, 0, len(happenings))
	for _, h := range happenings {
		names = append(names, h.name)
	}
	name := rapid.SampledFrom(names).Draw(t, "happening")
	at := slices.Index(names, name)
	happenings[at].do(t, s, vm, VMName(groupName, rapid.Int32Range(0, 7).Draw(t, "name")))
}

// bringBack moves VMs back below the root. If their name was taken, they get another.
func (s *sim) bringBack() {
	for _, vm := range s.sorted() {
		if vm.away && vm.Folder == folder && s.byName(vm.Name) != nil {
			vm.Name = "back-" + vm.Ref.Value
		}
		vm.away = false
	}
}

// interrupted is the progress of a process before it ended: some of the actions were sent.
func interrupted(t *rapid.T) func(Plan) Plan {
	return func(p Plan) Plan {
		p.Actions = p.Actions[:rapid.IntRange(0, len(p.Actions)).Draw(t, "actions sent")]
		return p
	}
}

// heal ends every disturbance that only a user can end.
func (s *sim) heal(t *rapid.T) {
	s.blind, s.paused, s.spec.Repair = false, false, nil
	s.denies = false // findings at connection time stay
	s.room, s.absent, s.forbidden, s.boots = muchRoom, map[string]bool{}, map[string]bool{}, map[string]int{}
	if s.spec.UpdateStrategy == nil {
		s.spec.UpdateStrategy = &v1alpha1.UpdateStrategy{}
	}
	if s.spec.UpdateStrategy.MaxFailures = 500; s.spec.DeletionPolicy == v1alpha1.DeletionRetain {
		s.spec.UpdateStrategy.Type = v1alpha1.UpdateOnDelete
	}
	for _, vm := range s.vms {
		vm.Connection, vm.boot = vsphere.Connected, max(vm.boot, 0)
		if vm.snapshot {
			vm.snapshot, vm.ChangeVersion = false, vm.ChangeVersion+"s"
		}
		if vm.Power == vsphere.PowerUnknown {
			vm.Power = vsphere.PoweredOff
		}
	}
	s.bringBack()
	s.clones, s.others = rapid.IntRange(1, 4).Draw(t, "clones"), rapid.IntRange(1, 4).Draw(t, "others")
}

// foreigners returns a copy of every VM that is not ours.
func (s *sim) foreigners() map[string]vsphere.VM {
	all := map[string]vsphere.VM{}
	for ref, vm := range s.vms {
		if !vm.ours {
			all[ref] = vm.VM
		}
	}
	return all
}

// troubled is a group after a random history, without any remaining obstacles.
func troubled(t *rapid.T) *sim {
	s := inTrouble(t)
	s.heal(t)
	return s
}

// inTrouble is a group after a random history.
func inTrouble(t *rapid.T) *sim {
	s := newSim(t, rapid.Int32Range(0, 6).Draw(t, "replicas"))
	s.clones, s.others = 2, 3
	for range rapid.IntRange(0, 40).Draw(t, "length") {
		switch rapid.IntRange(0, 5).Draw(t, "event") {
		case 0, 1:
			s.disturb(t)
		case 2:
			s.step(interrupted(t))
			s.crash()
		case 3:
			s.tick()
		default:
			s.step(nil)
			if rapid.Bool().Draw(t, "tick") {
				s.tick()
			}
		}
	}
	return s
}

// checkSettled compares vCenter with the plan's claims.
func (s *sim) checkSettled(t *rapid.T, p Plan) {
	count := int32(0)
	copies := map[string]bool{}
	for _, f := range p.Foreign {
		copies[f.MoRef] = true
	}
	names := map[string]bool{}
	for _, vm := range s.sorted() {
		if !vm.ours || copies[vm.Ref.Value] {
			continue // a VM that was renamed before it was recorded looks like a copy
		}
		count++
		names[vm.Name] = true
		on := s.spec.PowerState != v1alpha1.PoweredOff
		if (vm.Power == vsphere.PoweredOn) != on || vm.Tombstone {
			t.Fatalf("settled, but %s is %s with tombstone %t", vm.Name, vm.Power, vm.Tombstone)
		}
	}
	if count != *s.spec.Replicas+p.Surge || len(p.VMs) != int(count) {
		t.Fatalf("settled with %d VMs and vms [%s], %d are wanted\n%s", count, vmsOf(p), *s.spec.Replicas, strings.Join(s.trail, "\n"))
	}
}

func TestConvergence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := troubled(t)
		s.replicas(rapid.Int32Range(0, 6).Draw(t, "wanted"))
		before := s.foreigners()
		// Twice: our second clone was taken for a copy while the first was recorded, because a user removed it
		// before it was recorded and then returned it. It is adopted once that record ends.
		var last []Known
		p := s.run(func(p Plan) bool {
			stable := p.Settled && reflect.DeepEqual(last, s.known)
			last = slices.Clone(s.known)
			return stable
		})
		s.checkSettled(t, p)
		for ref, vm := range before {
			if now := s.vms[ref]; now == nil || !reflect.DeepEqual(now.VM, vm) {
				t.Fatalf("%s, which is not ours, was changed from %+v to %+v", ref, vm, now)
			}
		}
	})
}

func TestDeletionConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := troubled(t)
		s.deleting = true
		before := s.foreigners()
		p := s.run(isGone)
		copies := map[string]bool{}
		for _, f := range p.Foreign {
			copies[f.MoRef] = true
		}
		for ref, vm := range s.vms {
			if vm.ours && !copies[ref] {
				t.Fatalf("the group was deleted, but %s (%s) is left", vm.Name, ref)
			}
		}
		for ref, vm := range before {
			if now := s.vms[ref]; now == nil || !reflect.DeepEqual(now.VM, vm) {
				t.Fatalf("%s, which is not ours, was changed from %+v to %+v", ref, vm, now)
			}
		}
	})
}

// goOn runs some passes, so that the state before status was wiped is known: see ReasonNotStarted. The time of
// new guests can end in that period, which must not count.
func (s *sim) goOn(t *rapid.T) {
	looks := 3
	if rapid.Bool().Draw(t, "guests do not boot") {
		looks, s.boots = 12, map[string]int{"debian-12": -1, "debian-13": -1, "debian-14": -1}
		s.replicas(rapid.Int32Range(1, 6).Draw(t, "wanted before"))
	}
	for range looks {
		s.step(nil)
		s.tick()
	}
	s.boots = map[string]int{}
	for _, vm := range s.sorted() {
		if vm.boot < 0 {
			vm.boot, vm.sick = 0, s.now.Add(time.Duration(rapid.IntRange(0, 4).Draw(t, "sick"))*10*time.Second)
		}
	}
}

// undo reverts spec to an earlier value, if that is another update.
func (s *sim) undo(t *rapid.T) bool {
	revisions := slices.Sorted(maps.Keys(s.made))
	to := s.made[rapid.SampledFrom(revisions).Draw(t, "back to")]
	if to.Revision == Revision(s.seen) {
		return false
	}
	s.spec = Apply(to, s.spec)
	return true
}

// checkUpdated: each VM of the group matches spec.
func (s *sim) checkUpdated(t *rapid.T, p Plan) {
	for _, vm := range s.sorted() {
		at := slices.IndexFunc(p.VMs, func(v VMStatus) bool { return v.MoRef == vm.Ref.Value })
		if at < 0 {
			continue
		}
		network := networkOf(ShapeOf(s.spec))
		cores := vm.HotAdd.CoresPerSocket
		sockets := s.spec.CoresPerSocket != 0 && cores != s.spec.CoresPerSocket || vm.CPU%cores != 0
		resized := !vm.drifted && (sockets || vm.CPU != s.spec.CPU || vm.MemoryMiB != int64(s.spec.Memory)*1024) // a VM of the right revision keeps a user's changes
		if resized || vm.template != s.spec.Template || vm.network != network || vm.Stamp.Revision != Revision(s.spec) {
			t.Fatalf("%s has %d CPUs in sockets of %d, %d MiB, template %s, network %q and revision %s; spec has network %q and is %+v\n%s\n%s", vm.Name, vm.CPU, cores, vm.MemoryMiB, vm.template, vm.network, vm.Stamp.Revision, network,
				s.spec, strings.Join(s.trail, "\n"), s.why)
		}
		if vm.diskGiB < s.spec.Shape().RootDiskGiB() {
			t.Fatalf("%s has a root disk of %d GiB, and spec asks for %d\n%s\n%s", vm.Name, vm.diskGiB, s.spec.Shape().RootDiskGiB(), strings.Join(s.trail, "\n"), s.why)
		}
		if !vm.DataDisks.Has(WantedDisks(s.spec.Shape())) {
			t.Fatalf("%s has the data disks %q, and spec asks for %+v\n%s\n%s", vm.Name, vm.DataDisks, s.spec.Shape().DataDisks(), strings.Join(s.trail, "\n"), s.why)
		}
		if p.VMs[at].Updating || p.VMs[at].RestartPending {
			t.Fatalf("%s is still being changed: %+v", vm.Name, p.VMs[at])
		}
	}
}

var histories = flag.Int("plan.histories", usualHistories, "histories that end with an update")

// TestEveryUpdateEnds: after any history, an edit reaches every VM once all obstacles are removed.
func TestEveryUpdateEnds(t *testing.T) {
	checks := flag.Lookup("rapid.checks").Value // the only way to set the number
	before := checks.String()
	if err := checks.Set(strconv.Itoa(*histories)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Set(before) }()
	rapid.Check(t, func(t *rapid.T) {
		s := troubled(t)
		if s.spec.Readiness = anyReadiness(t); s.spec.Readiness.StartupTimeoutSeconds == 30 {
			s.spec.Readiness.StartupTimeoutSeconds = 60 // guests boot within 40 seconds
		}
		s.goOn(t)
		if p := s.step(nil); slices.ContainsFunc(p.Foreign, func(f Foreign) bool { return f.Copy }) {
			return // it can be our clone that is adopted later (see TestConvergence), and did not exist when the update began
		}
		s.replicas(rapid.Int32Range(0, 5).Draw(t, "wanted"))
		s.spec.DeletionPolicy = v1alpha1.DeletionDelete
		u := anyStrategy(t)
		u.Type, u.Paused, s.spec.UpdateStrategy = v1alpha1.UpdateRolling, false, u
		if u.Resize == v1alpha1.ResizeHot {
			u.Resize = v1alpha1.ResizeRestart
		}
		if u.Resize == v1alpha1.ResizeRecreate {
			for _, vm := range s.vms {
				vm.ide = false // its disk would grow once a person powers it off
			}
		}
		u.ReplaceTrigger = ""
		switch edit := rapid.SampledFrom([]string{"replace", "resize", "grow", "add", "undo"}).Draw(t, "edit"); {
		case edit == "undo" && s.undo(t):
		case edit == "replace":
			u.ReplaceTrigger = "last"
		case edit == "grow":
			s.spec.Disks = disksOf(40)
		case edit == "add":
			s.spec.Disks = disksOf(0, v1alpha1.DataDisk{Name: "last", SizeGiB: 1}, v1alpha1.DataDisk{Name: "data", SizeGiB: 7})
		default:
			s.spec.CPU, s.spec.CoresPerSocket, s.spec.Memory = 6, 2, rapid.Int32Range(3, 5).Draw(t, "memory") // a size that no disturbance sets
		}
		p := s.run(settled)
		if p.Surge != 0 || len(p.Outdated) > 0 || len(p.Rollout.From) > 0 || p.Update.Reason != v1alpha1.ReasonUpToDate {
			t.Fatalf("settled, and the update has not ended: %+v\n%s\n%s", p.Update, strings.Join(s.trail, "\n"), s.why)
		}
		s.checkSettled(t, p)
		s.checkUpdated(t, p)
	})
}
