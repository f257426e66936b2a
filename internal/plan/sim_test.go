package plan

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// muchRoom is a large quota grant for an update.
var muchRoom = SurgeRoom{VMs: 100}

// sim is a vCenter with one group, and the controller around the planner: recorded status, submitted actions and
// failures. Every call of step is one reconcile; tasks end at the next tick.
type sim struct {
	t   fataler
	now time.Time

	spec     v1alpha1.VmGroupSpec
	deleting bool
	paused   bool
	blind    bool
	// silent is true while the API server of the group's cluster does not respond: nothing is recorded, so no action is
	// taken.
	silent bool
	// hidden are names in the folder that no observation shows.
	hidden map[string]bool

	vms   map[string]*simVM
	tasks []simTask
	next  int
	// confirmed are missing VMs whose fate was requested: the response comes with the next observation.
	confirmed map[string]bool
	failures  []vsphere.Failure
	// attempts counts consecutive failures, for the backoff that the port promises: with a constant one, taken names
	// would be retried in turn forever.
	attempts map[string]int

	// the content of status
	known   []Known
	doomed  []int32
	listed  []Listed
	gate    Gate
	rollout *Rollout
	shapes  []v1alpha1.Revision
	// seen is the spec of status, admitted the last allowed one.
	seen, admitted v1alpha1.VmGroupSpec

	// backup is the group's state in a backup of its cluster, or nil.
	backup *saved

	// made are all shapes that spec ever had, by revision.
	made map[string]v1alpha1.Revision
	// boots is the boot time in ticks of each template's guests; a negative number means forever. absent templates do
	// not exist in vCenter, and policy refuses forbidden ones.
	boots             map[string]int
	absent, forbidden map[string]bool
	// unread templates exist in vCenter, and have not been looked up.
	unread map[string]bool
	// denies is true while vCenter refuses to change VMs; lacks is a privilege found missing, possibly at another time.
	// locked is vCenter's response to each change of a VM that is off, lockedOn that for a VM that is on, if it
	// differs. unstoppable is its response to each stop of a VM.
	locked, lockedOn, unstoppable vsphere.Kind
	denies                        bool
	// unfit is true while vCenter rejects every other size, noRoom while it starts no VM.
	unfit, noRoom bool
	lacks         []string
	// hotAdd is true for VMs that accept more resources while they are on.
	hotAdd bool
	room   SurgeRoom
	// trail are the decisions of the last passes, to debug a failure.
	trail []string
	why   string
	// watch is called with every plan and its input.
	watch func(Input, Plan)

	clones, others int // budget of one step
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ fataler = (*testing.T)(nil)

// simFatal prints the history of a failure.
type simFatal struct {
	fataler
	sim *sim
}

// revisionsOf names the VMs of a plan with their revisions.
func revisionsOf(p Plan) string {
	var b strings.Builder
	for _, v := range p.VMs {
		fmt.Fprintf(&b, "%d:%s(%s) ", v.Ordinal, v.Phase, strings.TrimPrefix(v.Revision, "1-")[:4])
	}
	return b.String()
}

func (f *simFatal) how() string { return "\n" + strings.Join(f.sim.trail, "\n") + "\n" + f.sim.why }

type simVM struct {
	vsphere.VM
	// ours is true for VMs that the operator cloned and still owns.
	ours bool
	away bool
	// slow is the number of ticks that its guest takes to shut down once asked. A negative one never does.
	slow int
	// boot is the number of ticks that it boots, up the number that it is on.
	boot, up int
	// sick guests are not ready before that.
	sick time.Time
	// stubborn VMs reject all changes while they are on, although they report that they accept them.
	stubborn bool
	// drifted: a user gave it another size than its revision has.
	drifted           bool
	template, network string
	// diskGiB is the size of its root disk, which is on an IDE controller if ide is true. snapshot is true while it has a snapshot.
	diskGiB       int32
	ide, snapshot bool
}

type simTask struct {
	vsphere.Operation
	action   Action
	revision string
	// lost tasks run, but no observation reports them.
	lost bool
}

func newSim(t fataler, replicas int32) *sim {
	return &sim{
		t: t, now: epoch, spec: validSpec(replicas), seen: validSpec(replicas), admitted: validSpec(replicas), vms: map[string]*simVM{}, hidden: map[string]bool{},
		confirmed: map[string]bool{}, attempts: map[string]int{}, clones: 99, others: 99, made: map[string]v1alpha1.Revision{},
		boots: map[string]int{}, absent: map[string]bool{}, forbidden: map[string]bool{}, unread: map[string]bool{}, room: muchRoom,
	}
}

// saved is an API server's state of a group.
type saved struct {
	spec, seen v1alpha1.VmGroupSpec
	known      []Known
	doomed     []int32
	listed     []Listed
	gate       Gate
	rollout    *Rollout
	shapes     []v1alpha1.Revision
}

func (s *sim) save() {
	s.backup = &saved{*s.spec.DeepCopy(), *s.seen.DeepCopy(), slices.Clone(s.known), slices.Clone(s.doomed), slices.Clone(s.listed), s.gate, s.rollout, slices.Clone(s.shapes)}
}

// restore restores the saved state. Later admissions are on the hub.
func (s *sim) restore() {
	if b := s.backup; b != nil {
		s.spec, s.seen, s.known, s.doomed, s.listed = *b.spec.DeepCopy(), *b.seen.DeepCopy(), slices.Clone(b.known), slices.Clone(b.doomed), slices.Clone(b.listed)
		s.gate, s.rollout, s.shapes = b.gate, b.rollout, slices.Clone(b.shapes)
	}
}

func (s *sim) replicas(n int32) { s.spec.Replicas = &n }

// sorted returns the VMs by managed object reference.
func (s *sim) sorted() []*simVM {
	return slices.SortedFunc(maps.Values(s.vms), func(a, b *simVM) int {
		return cmp.Or(cmp.Compare(len(a.Ref.Value), len(b.Ref.Value)), cmp.Compare(a.Ref.Value, b.Ref.Value))
	})
}

func (s *sim) byName(name string) *simVM {
	for _, vm := range s.sorted() {
		if vm.Name == name && vm.Folder == folder && !vm.away {
			return vm
		}
	}
	return nil
}

// put adds a VM with a new reference and UUID.
func (s *sim) put(vm vsphere.VM, ours bool) *simVM {
	s.next++
	vm.Ref = vsphere.VMRef(fmt.Sprintf("vm-%d", s.next))
	if vm.InstanceUUID == "" {
		vm.InstanceUUID = fmt.Sprintf("00000000-0000-0000-0000-%012d", s.next)
	}
	v := &simVM{VM: vm, ours: ours}
	s.vms[vm.Ref.Value] = v
	return v
}

func (s *sim) input() Input {
	in := Input{
		Now: s.now, Name: groupName, ID: groupID, Folder: folder, Spec: *s.spec.DeepCopy(), Revision: Revision(s.spec), UpdateRevision: Revision(s.spec),
		Deleting: s.deleting, Known: slices.Clone(s.known), Doomed: slices.Clone(s.doomed), Listed: slices.Clone(s.listed), Gate: s.gate, Rollout: s.rollout,
		Edited: !reflect.DeepEqual(s.spec, s.seen), TemplateCores: templateCores, Shapes: Believed(s.shapes), Surge: s.room, Desired: *s.seen.Replicas,
	}
	if s.forbidden[s.spec.Template] || s.absent[s.spec.Template] {
		in.Surge = SurgeRoom{} // no quota is asked for a spec that is refused or not found
	}
	s.admit(&in)
	for i := range in.Shapes {
		shape := &in.Shapes[i]
		if shape.Blocked = s.refuses(shape.Recorded.Template); shape.Recorded.Revision == in.Revision {
			shape.Blocked = in.CreateBlocked // an admitted shape is kept, even if it would not be admitted today
		}
	}
	if s.paused {
		in.Paused = &Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true."}
	}
	o := &in.Observation
	o.Complete, o.Lacks = !s.blind, s.lacks
	for _, vm := range s.sorted() {
		recorded := slices.ContainsFunc(s.known, func(k Known) bool { return k.MoRef == vm.Ref.Value })
		if !vm.away && (vm.Stamp != nil || vm.Folder == folder || recorded) {
			o.VMs = append(o.VMs, vm.VM)
		}
	}
	for _, k := range s.known {
		ref := cmp.Or(k.MoRef, k.Replaces.MoRef)
		vm := s.vms[ref]
		switch {
		case ref == "" || (vm != nil && !vm.away):
		case s.blind || !s.confirmed[ref]:
			s.confirmed[ref] = true
		case vm == nil:
			o.Gone = append(o.Gone, vsphere.VMRef(ref))
		default:
			o.Elsewhere = append(o.Elsewhere, vsphere.VMRef(ref))
		}
	}
	for _, task := range s.tasks {
		if !task.lost {
			o.InFlight = append(o.InFlight, task.Operation)
		}
	}
	o.Failures = slices.Clone(s.failures)
	return in
}

// admit holds the group at the last allowed spec if its template is forbidden. If spec was reverted to the state of all
// VMs, they are accepted unchanged.
func (s *sim) admit(in *Input) {
	if s.forbidden[s.spec.Template] {
		in.UpdateBlocked = s.refuses(s.spec.Template)
		if s.stands(in.UpdateRevision) {
			s.admitted.Replicas = ptr(min(*s.admitted.Replicas, *s.spec.Replicas))
			s.made[in.Revision], in.CreateBlocked = ShapeOf(in.Spec), in.UpdateBlocked
			return
		}
		in.Spec = Apply(ShapeOf(s.admitted), s.spec)
		in.Revision, in.MayStay = Revision(in.Spec), *s.spec.Replicas
	} else {
		s.admitted = *s.spec.DeepCopy()
		in.UpdateBlocked = s.blocks(s.spec.Template) // a template that is not found is neither allowed nor refused
	}
	s.made[in.Revision] = ShapeOf(in.Spec)
	in.CreateBlocked = s.blocks(in.Spec.Template)
}

// stands is true if another revision was admitted, and the number of VMs of this one is that in spec.
func (s *sim) stands(revision string) bool {
	n := int32(0)
	for _, vm := range s.sorted() {
		if vm.ours && !vm.away && !vm.Tombstone && vm.Stamp.Revision == revision && !slices.Contains(s.doomed, vm.Stamp.Ordinal) {
			n++
		}
	}
	return Revision(s.admitted) != revision && n > 0 && n >= *s.spec.Replicas
}

// refuses returns why no older shape with a template can be cloned, or nil.
func (s *sim) refuses(template string) *Blocker {
	if s.forbidden[template] {
		return &Blocker{Reason: v1alpha1.ReasonPolicyViolated, Message: template + " is forbidden.", Terminal: true}
	}
	return s.blocks(template)
}

// blocks returns why no clone of a template is possible, or nil.
func (s *sim) blocks(template string) *Blocker {
	if s.unread[template] {
		return &Blocker{Reason: v1alpha1.ReasonInventoryIncomplete, Message: template + " has not been looked up."}
	}
	if s.absent[template] {
		return &Blocker{Reason: v1alpha1.ReasonTemplateNotFound, Message: "There is no template " + template + ".", Terminal: true}
	}
	return nil
}

// step reconciles once, and executes the plan as far as allowed permits.
func (s *sim) step(allowed func(Plan) Plan) Plan {
	in := s.input()
	full := Compute(in)
	if line := fmt.Sprintf("%s | doomed %v | %s | %s", revisionsOf(full), full.Doomed, actionsOf(full), full.Update); len(s.trail) == 0 || !strings.HasSuffix(s.trail[len(s.trail)-1], line) {
		s.trail = append(s.trail[max(len(s.trail)-20, 0):], s.now.Format(time.TimeOnly)+" "+line)
	}
	s.why = fmt.Sprintf("wants %d and %d more, policy %s, power %s, strategy %+v, rollout %+v, revisions %+v", full.Desired, full.Surge, s.spec.DeletionPolicy, s.spec.PowerState, strategyOf(s.spec.UpdateStrategy, full.Desired), full.Rollout, full.Revisions)
	checkRules(&simFatal{s.t, s}, in, full)
	if s.watch != nil {
		s.watch(in, full)
	}
	p := full.Limit(s.clones, s.others)
	if s.silent {
		return p
	}
	submitted := p
	if allowed != nil {
		submitted = allowed(p)
	}
	if in.Observation.Complete { // an older complete table is better than an incomplete one
		s.known, s.doomed, s.listed, s.gate = persist(p), p.Doomed, p.Listed, p.Gate
	}
	s.record(p)
	s.shapes, s.seen = p.Revisions, *s.spec.DeepCopy()
	for _, a := range submitted.Actions {
		s.submit(a)
	}
	return p
}

// record records an update as group.Snapshot does: it ends only after its surplus VMs were removed.
func (s *sim) record(p Plan) {
	was := s.rollout
	if s.rollout = &p.Rollout; was == nil || len(was.From) == 0 || was.Revision != p.Rollout.Revision || len(p.Rollout.From) > 0 || p.Existing <= p.Desired && len(p.Doomed) == 0 {
		return
	}
	s.rollout.From, s.rollout.Start, s.rollout.Failed, s.rollout.SurgeKnown = was.From, was.Start, was.Failed, true
}

func (s *sim) submit(a Action) {
	s.t.Helper()
	if a.Kind == CreateVM {
		k := slices.IndexFunc(s.known, func(k Known) bool { return k.Ordinal == a.Ordinal })
		if k < 0 || s.known[k].UUID != a.UUID || s.known[k].Incarnation != a.Incarnation {
			s.t.Fatalf("%s is cloned, but its intent is not recorded", a.Name)
		}
		if shape := s.made[a.Revision]; shape.Revision == "" || s.absent[shape.Template] {
			s.t.Fatalf("%s is cloned in revision %q, which is unknown or has no template", a.Name, a.Revision)
		}
	} else if vm := s.vms[a.MoRef]; vm == nil || !vm.ours || vm.away {
		s.t.Fatalf("%s acts on %s, which is not the group's", a.Kind, a.MoRef)
	}
	if (a.Kind == DestroyVM || a.Kind == MarkVM) && !slices.Contains(s.doomed, a.Ordinal) {
		s.t.Fatalf("%s of %s is not recorded in status.deleting", a.Kind, a.Name)
	}
	s.tasks = slices.DeleteFunc(s.tasks, func(t simTask) bool { // an operation that overtakes a guest's shutdown replaces it
		return t.Kind == vsphere.OpShutdownGuest && t.Ordinal == a.Ordinal
	})
	s.tasks = append(s.tasks, simTask{
		Operation: vsphere.Operation{Kind: a.operation(), Ordinal: a.Ordinal, VM: vsphere.VMRef(a.MoRef), Since: s.now},
		action:    a, revision: a.Revision,
	})
}

// crash starts another process: it knows clones from vCenter, and nothing else.
func (s *sim) crash() {
	s.failures, s.attempts = nil, map[string]int{}
	s.confirmed = map[string]bool{}
	for i := range s.tasks {
		s.tasks[i].OutcomeUnknown = true
		s.tasks[i].lost = s.tasks[i].Kind != vsphere.OpClone
	}
}

// tick ends every task, except those of slow guests.
func (s *sim) tick() {
	s.now = s.now.Add(10 * time.Second)
	for _, vm := range s.vms {
		vm.up++
	}
	tasks := s.tasks
	s.tasks = nil
	defer s.boot()
	for _, task := range tasks {
		if s.shutting(task) {
			s.tasks = append(s.tasks, task)
			continue
		}
		attempt := fmt.Sprint(task.Kind, task.Ordinal)
		kind := s.finish(task)
		s.failures = slices.DeleteFunc(s.failures, func(f vsphere.Failure) bool { // see operations.Failures
			stays := kind != "" || f.Kind == vsphere.OpReconfigure && task.Kind != vsphere.OpClone
			return f.Ordinal == task.Ordinal && (f.Kind == task.Kind || !stays)
		})
		if kind == "" {
			delete(s.attempts, attempt)
		} else if !task.lost {
			backoff := 25 * time.Second << s.attempts[attempt]
			s.attempts[attempt] = min(s.attempts[attempt]+1, 4)
			s.failures = append(s.failures, vsphere.Failure{
				Kind: task.Kind, Ordinal: task.Ordinal, At: s.now, RetryAt: s.now.Add(backoff), Revision: task.revision, Count: s.attempts[attempt],
				Err: said{kind, fmt.Sprintf("%s of %s failed.", task.Kind, task.action.Name)},
			})
		}
	}
}

// boot advances the boot of guests.
func (s *sim) boot() {
	for _, vm := range s.vms {
		if !vm.ours {
			continue // its fate is not derived from planned actions
		}
		if vm.Power != vsphere.PoweredOn {
			vm.up = 0
		}
		vm.HeartbeatGreen = vm.Power == vsphere.PoweredOn && vm.boot >= 0 && vm.up >= vm.boot && !s.now.Before(vm.sick)
	}
}

// shutting reports whether a guest has not shut down yet, and is waited for.
func (s *sim) shutting(task simTask) bool {
	vm := s.vms[task.action.MoRef]
	if task.Kind != vsphere.OpShutdownGuest || s.now.Sub(task.Since) > task.action.Within || vm == nil || vm.slow == 0 || !vm.ToolsRunning || vm.Power != vsphere.PoweredOn {
		return false
	}
	vm.slow = max(vm.slow-1, -1)
	return true
}

// finish executes the task, and returns the kind of its error.
func (s *sim) finish(task simTask) vsphere.Kind {
	a := task.action
	if task.Kind == vsphere.OpClone {
		return s.clone(task)
	}
	vm := s.vms[a.MoRef]
	switch {
	case vm == nil:
		return ""
	case vm.Stamp == nil || !vm.Connected() || vm.away:
		return vsphere.KindTransient
	}
	switch task.Kind {
	case vsphere.OpMark:
		vm.Tombstone = true
	case vsphere.OpPowerOn:
		if s.noRoom {
			return vsphere.KindCapacity
		}
		vm.Power = vsphere.PoweredOn
	case vsphere.OpShutdownGuest, vsphere.OpPowerOff:
		return s.turnOff(vm, task.Kind)
	case vsphere.OpReconfigure, vsphere.OpIdentify:
		return s.reconfigure(vm, a)
	case vsphere.OpRelease:
		vm.Stamp, vm.ours = nil, false
	case vsphere.OpDestroy:
		if vm.Power != vsphere.PoweredOff || !vm.Tombstone {
			return vsphere.KindTransient
		}
		delete(s.vms, a.MoRef)
	}
	return ""
}

// turnOff stops a VM, and returns the kind of its error.
func (s *sim) turnOff(vm *simVM, how vsphere.OperationKind) vsphere.Kind {
	asks := how == vsphere.OpShutdownGuest
	switch {
	case s.unstoppable != "" && (asks || !vm.ToolsRunning): // a VM whose guest can be asked must not be powered off
		return s.unstoppable
	case asks && vm.Power == vsphere.PoweredOn && (!vm.ToolsRunning || vm.slow != 0):
		return vsphere.KindTransient
	}
	vm.Power = vsphere.PoweredOff
	return ""
}

// clone creates a VM, and returns the kind of its error.
func (s *sim) clone(task simTask) vsphere.Kind {
	a := task.action
	if s.hidden[a.Name] || s.byName(a.Name) != nil {
		return vsphere.KindNameTaken
	}
	shape := s.made[a.Revision]
	if s.absent[shape.Template] {
		return vsphere.KindTransient
	}
	vm := s.put(vsphere.VM{
		CPU: shape.CPU, MemoryMiB: int64(shape.Memory) * 1024, HotAdd: vsphere.HotAdd{
			CPU: s.hotAdd, Memory: s.hotAdd, CoresPerSocket: cmp.Or(shape.CoresPerSocket, vsphere.FittingCores(shape.CPU, templateCores)),
		},
		Name: a.Name, InstanceUUID: a.UUID, Folder: folder, Power: vsphere.PoweredOff, Connection: vsphere.Connected, ToolsRunning: a.Ordinal%2 == 0,
		Stamp: &vsphere.Stamp{GroupID: groupID, Ordinal: a.Ordinal, Incarnation: a.Incarnation, Revision: task.revision,
			CloneMode: string(v1alpha1.CloneFull), Created: task.Since},
	}, true)
	vm.boot, vm.template, vm.network = s.boots[shape.Template], shape.Template, networkOf(shape)
	vm.diskGiB = max(shape.RootDiskGiB(), templateDiskGiB)
	vm.DataDisks = fake.WithDataDisks("", WantedDisks(shape.VMShape))
	return ""
}

// refusal is vCenter's reason not to change a VM, or empty.
func (s *sim) refusal(vm *simVM, a Action) vsphere.Kind {
	switch {
	case (a.RootDiskGiB > vm.diskGiB || vm.DataDisks.Growing(a.DataDisks) != nil) && vm.snapshot:
		return vsphere.KindGrowthBlocked // the operator itself finds the snapshot
	case s.denies:
		return vsphere.KindPermission
	case s.locked != "" && (vm.Power == vsphere.PoweredOff || s.lockedOn == ""):
		return s.locked
	case s.locked != "":
		return s.lockedOn
	case s.unfit && vm.Power == vsphere.PoweredOff && (a.CPU != 0 || a.MemoryMiB != 0):
		return vsphere.KindSpec
	case cmp.Or(a.CPU, vm.CPU)%max(cmp.Or(a.CoresPerSocket, vm.HotAdd.CoresPerSocket), 1) != 0:
		return vsphere.KindSpec
	case a.ChangeVersion != vm.ChangeVersion:
		return vsphere.KindConflict // another change, already forgotten, came first
	}
	return ""
}

// templateCores is the number of cores per socket of all templates, and templateDiskGiB the size of their disks.
const (
	templateCores   = 2
	templateDiskGiB = 10
)

// reconfigure changes a VM as vCenter does: a VM that is on only gets more resources, and only if it accepts them.
func (s *sim) reconfigure(vm *simVM, a Action) vsphere.Kind {
	if kind := s.refusal(vm, a); kind != "" {
		return kind
	}
	cpu, memory, cores := cmp.Or(a.CPU, vm.CPU), cmp.Or(a.MemoryMiB, vm.MemoryMiB), cmp.Or(a.CoresPerSocket, vm.HotAdd.CoresPerSocket)
	if vm.Power != vsphere.PoweredOff && (cores != vm.HotAdd.CoresPerSocket || vm.stubborn && (cpu > vm.CPU || memory > vm.MemoryMiB) || cpu < vm.CPU || memory < vm.MemoryMiB || !vm.HotAdd.CPU && cpu > vm.CPU || !vm.HotAdd.Memory && memory > vm.MemoryMiB) {
		return vsphere.KindOffOnly // it was powered on since, or its host rejects the change
	}
	if (a.RootDiskGiB > vm.diskGiB || !vm.DataDisks.Has(a.DataDisks)) && vm.ide && vm.Power != vsphere.PoweredOff {
		return vsphere.KindOffOnly
	}
	vm.changeDisks(a)
	vm.CPU, vm.MemoryMiB, vm.HotAdd.CoresPerSocket = cpu, memory, cores
	vm.drifted = vm.drifted && a.CPU == 0 && a.MemoryMiB == 0
	if a.Network != nil {
		vm.network = *a.Network
	}
	stamp := *vm.Stamp
	stamp.Revision = cmp.Or(a.Revision, stamp.Revision)
	vm.Stamp, vm.ChangeVersion = &stamp, vm.ChangeVersion+"+"
	return ""
}

// changeDisks changes the disks of a VM, and the list of its data disks.
func (vm *simVM) changeDisks(a Action) {
	vm.diskGiB = max(vm.diskGiB, a.RootDiskGiB)
	if vm.DataDisks = fake.WithDataDisks(vm.DataDisks, a.DataDisks); a.Identify {
		vm.DataDisks = fake.Identified(vm.DataDisks)
	}
}

// run reconciles until done returns true, and fails if that takes too long.
func (s *sim) run(done func(Plan) bool) Plan {
	s.t.Helper()
	var p Plan
	for range 300 {
		if p = s.step(nil); done(p) {
			return p
		}
		s.tick()
	}
	s.t.Fatalf("the group does not converge: actions [%s], blockers %v, vms [%s], doomed %v, in flight %v\n%s\n%s",
		actionsOf(p), p.Blockers, vmsOf(p), p.Doomed, s.tasks, strings.Join(s.trail, "\n"), s.why)
	return p
}

func settled(p Plan) bool { return p.Settled }
func isGone(p Plan) bool  { return p.Gone }

// persist records a plan in status for the next Input.
func persist(p Plan) []Known {
	ks := make([]Known, 0, len(p.VMs))
	for _, s := range p.VMs {
		ks = append(ks, Known{
			Ordinal: s.Ordinal, Incarnation: s.Incarnation, MoRef: s.MoRef, UUID: s.UUID, Revision: s.Revision, RootDiskGiB: s.RootDiskGiB, DataDisks: s.DataDisks,
			ReadySince: s.ReadySince.Truncate(time.Second), ShutdownTime: s.ShutdownTime.Truncate(time.Second), Phase: s.Phase,
			StartTime: s.StartTime.Truncate(time.Second), Updating: s.Updating, Replaces: s.Replaces,
			StoppedAt: s.StoppedAt.Truncate(time.Second), RefusedAt: s.RefusedAt.Truncate(time.Second),
		})
	}
	return ks
}
