package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// checkRules checks the rules of every plan (see doc.go).
func checkRules(t fataler, in Input, p Plan) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		came := ""
		if s, ok := t.(*simFatal); ok {
			came = s.how()
		}
		t.Fatalf(format+"%s\ninput: %+v\nplan: %+v", append(args, came, in, p)...)
	}
	if (!in.Observation.Complete || in.Paused != nil) && len(p.Actions) > 0 {
		fail("hands off, but there are actions")
	}
	if !in.Observation.Complete && (p.Gone || p.Settled || !reflect.DeepEqual(withDoomed(in, p), p.Doomed)) {
		fail("an incomplete observation settled or decided something")
	}
	checkOwnership(fail, in, p)
	checkArithmetic(fail, in, p)
	checkSuspects(fail, in, p)
	checkOperations(fail, in, p)
	checkOutcome(fail, in, p)
	checkKept(fail, in, p)
	checkRollout(fail, in, p)
	checkBriefs(fail, p)
	if in.Hold != nil && slices.ContainsFunc(p.Actions, func(a Action) bool {
		return !replaces(in, p, a.Ordinal) && (a.Kind == DestroyVM || a.Kind == MarkVM || a.Kind == ReleaseVM || a.Kind == PowerOffVM && (in.Deleting || slices.Contains(p.Doomed, a.Ordinal)))
	}) {
		fail("what is to leave is held, and is on its way")
	}
}

// checkOutcome: the flags settled and gone are correct, and lists are sorted.
func checkOutcome(fail func(string, ...any), in Input, p Plan) {
	if p.Settled && (len(p.Actions) > 0 || len(p.Doomed) > 0 || len(in.Observation.InFlight) > 0 ||
		p.Existing != p.Desired+p.Surge || p.Ready != p.Desired+p.Surge) {
		fail("settled with work left")
	}
	if p.Gone && (len(p.VMs) > 0 || !in.Deleting) {
		fail("gone with VMs, or without being deleted")
	}
	checkListed(fail, in, p)
	if !slices.IsSortedFunc(p.VMs, func(a, b VMStatus) int { return int(a.Ordinal) - int(b.Ordinal) }) ||
		!slices.IsSorted(p.Doomed) ||
		!slices.IsSortedFunc(p.Foreign, func(a, b Foreign) int { return compareStrings(a.MoRef, b.MoRef) }) {
		fail("something is not sorted")
	}
	for i := range p.VMs {
		if i > 0 && p.VMs[i].Ordinal == p.VMs[i-1].Ordinal {
			fail("two VMs of ordinal %d", p.VMs[i].Ordinal)
		}
	}
}

// checkListed: each VM that is recorded as listed is on the list, once.
func checkListed(fail func(string, ...any), in Input, p Plan) {
	for i, l := range p.Listed {
		if i > 0 && p.Listed[i-1].Name >= l.Name || in.Spec.ScaleDown == nil || !slices.Contains(in.Spec.ScaleDown.DeleteFirst, l.Name) {
			fail("listed to leave first are %v", p.Listed)
		}
	}
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// withDoomed is the allowed content of Doomed for an incomplete observation: recorded ordinals, and tombstones,
// including those being written.
func withDoomed(in Input, p Plan) []int32 {
	all := slices.Clone(in.Doomed)
	for _, s := range p.VMs {
		for _, vm := range in.Observation.VMs {
			if (vm.Tombstone || newOperations(&in, settingsOf(&in)).leaving(s.Ordinal)) && vm.Stamp != nil && vm.Ref.Value == s.MoRef {
				all = append(all, s.Ordinal)
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return nil
	}
	return all
}

// checkOwnership: only our observed VMs are acted on, and doomed ones stay doomed.
func checkOwnership(fail func(string, ...any), in Input, p Plan) {
	foreign := map[string]bool{}
	for _, f := range p.Foreign {
		foreign[f.MoRef] = true
	}
	vms := vmsByOrdinal(p)
	for _, a := range p.Actions {
		if !slices.Contains(Causes, a.Cause) || !slices.Contains(ActionKinds, a.Kind) {
			fail("%s of %s is for %q", a.Kind, a.Name, a.Cause)
		}
		s := vms[a.Ordinal]
		if a.Kind == CreateVM {
			if slices.Contains(p.Doomed, a.Ordinal) || s.MoRef != "" || s.UUID != a.UUID || s.Name != a.Name {
				fail("the clone of %s has no status of its own", a.Name)
			}
			if slices.ContainsFunc(in.Observation.VMs, func(vm vsphere.VM) bool { return strings.EqualFold(vm.InstanceUUID, a.UUID) }) {
				fail("the clone of %s has the UUID of another VM", a.Name)
			}
			continue
		}
		at := slices.IndexFunc(in.Observation.VMs, func(vm vsphere.VM) bool { return vm.Ref.Value == a.MoRef })
		if at < 0 || in.Observation.VMs[at].Stamp == nil || foreign[a.MoRef] || s.MoRef != a.MoRef {
			fail("%s acts on %s, which is not ours", a.Kind, a.MoRef)
		}
		checkStep(fail, in, a, in.Observation.VMs[at], slices.Contains(p.Doomed, a.Ordinal), s.Updating)
	}
	checkDoomed(fail, in, p, foreign)
}

// checkDoomed: doomed VMs are shown as such, VMs with a tombstone are never revived, and no VM is both ours and
// foreign.
func checkDoomed(fail func(string, ...any), in Input, p Plan, foreign map[string]bool) {
	for _, s := range p.VMs {
		isDoomed := slices.Contains(p.Doomed, s.Ordinal)
		if s.MoRef != "" && foreign[s.MoRef] {
			fail("%s is ours and foreign", s.MoRef)
		}
		if isDoomed != (s.Phase == v1alpha1.VMDeleting) || (isDoomed && s.Available) {
			fail("VM %d is doomed: %t, but shown as %s, available %t", s.Ordinal, isDoomed, s.Phase, s.Available)
		}
		at := slices.IndexFunc(in.Observation.VMs, func(vm vsphere.VM) bool { return vm.Ref.Value == s.MoRef })
		if slices.Contains(in.Doomed, s.Ordinal) && !isDoomed && at >= 0 && in.Observation.VMs[at].Tombstone {
			fail("%d has a tombstone and is revived", s.Ordinal)
		}
	}
}

// checkStep: removals concern only doomed VMs, in the right order, and other actions do not.
func checkStep(fail func(string, ...any), in Input, a Action, vm vsphere.VM, isDoomed, updating bool) {
	if a.Reason == "" {
		fail("%s %s has no reason", a.Kind, a.Name)
	}
	switch a.Kind {
	case PowerOnVM:
		if isDoomed || vm.Tombstone {
			fail("%s is powered on and doomed", a.Name)
		}
	case ShutdownGuest, PowerOffVM:
		checkStop(fail, in, a, vm, isDoomed, updating)
	case MarkVM, ReleaseVM:
		if !isDoomed {
			fail("%s of %s, which is not doomed", a.Kind, a.Name)
		}
	case DestroyVM:
		if !isDoomed || !vm.Tombstone || vm.Power != vsphere.PoweredOff || !vm.Connected() {
			fail("%s is destroyed without a tombstone, running, or out of reach", a.Name)
		}
	}
}

// checkStop: the only VMs stopped are those that leave, once marked, those that must be off, and those that status
// reports as updated. A guest that can be asked is asked first, and has its time.
func checkStop(fail func(string, ...any), in Input, a Action, vm vsphere.VM, isDoomed, updating bool) {
	within, graceful := grace(in)
	retained := in.Spec.DeletionPolicy == v1alpha1.DeletionRetain
	switch {
	case isDoomed && (!vm.Tombstone || retained), !isDoomed && !updating && in.Spec.PowerState != v1alpha1.PoweredOff:
		fail("%s %s, which is not to be stopped", a.Kind, a.Name)
	case !vm.Connected():
		fail("%s %s, which is out of reach", a.Kind, a.Name)
	case a.Kind == ShutdownGuest && (vm.Power != vsphere.PoweredOn || !vm.ToolsRunning || !graceful || a.Within <= 0 || a.Within > within):
		fail("the guest of %s, which cannot or must not be asked, is asked, and has %s", a.Name, a.Within)
	case a.Kind == PowerOffVM && vm.Power == vsphere.PoweredOn && vm.ToolsRunning && graceful && !hadItsTime(in, a.Ordinal, a.MoRef):
		fail("%s is powered off before its guest had its time", a.Name)
	}
}

// grace is the time limit of a guest, and whether it is asked.
func grace(in Input) (time.Duration, bool) {
	d := in.Spec.Shutdown
	switch {
	case d == nil || d.Mode != v1alpha1.ShutdownHard && d.TimeoutSeconds == 0:
		return 3 * time.Minute, true
	case d.Mode == v1alpha1.ShutdownHard:
		return 0, false
	}
	return time.Duration(d.TimeoutSeconds) * time.Second, true
}

// hadItsTime reports whether the guest of a VM was asked to shut down this long ago.
func hadItsTime(in Input, ordinal int32, moRef string) bool {
	within, _ := grace(in)
	return slices.ContainsFunc(in.Known, func(k Known) bool {
		return k.MoRef == moRef && !k.ShutdownTime.IsZero() && in.Now.Sub(k.ShutdownTime) >= within
	}) || slices.ContainsFunc(in.Observation.InFlight, func(op vsphere.Operation) bool {
		return op.Kind == vsphere.OpShutdownGuest && op.Ordinal == ordinal && in.Now.Sub(op.Since) >= within
	})
}

func vmsByOrdinal(p Plan) map[int32]VMStatus {
	vms := map[int32]VMStatus{}
	for _, s := range p.VMs {
		vms[s.Ordinal] = s
	}
	return vms
}

// checkArithmetic: never more VMs than wanted.
func checkArithmetic(fail func(string, ...any), in Input, p Plan) {
	coming := int32(p.Creates())
	for _, s := range p.VMs {
		cloning := slices.ContainsFunc(in.Observation.InFlight,
			func(op vsphere.Operation) bool { return op.Kind == vsphere.OpClone && op.Ordinal == s.Ordinal })
		if s.MoRef == "" && cloning && !slices.Contains(p.Doomed, s.Ordinal) {
			coming++
		}
	}
	if p.Creates() > 0 && p.Existing+coming > p.Desired+p.Surge {
		fail("%d exist and %d come, but %d are wanted", p.Existing, coming, p.Desired)
	}
	if in.Deleting && p.Creates() > 0 {
		fail("a group that is deleted creates")
	}
	if p.Ready > p.Existing || p.Updated > p.Existing || int(p.Existing-p.Updated) != len(p.Outdated) {
		fail("ready %d, updated %d, outdated %v of %d", p.Ready, p.Updated, p.Outdated, p.Existing)
	}
}

// checkSuspects: a VM that is not confirmed deleted is neither replaced nor forgotten.
func checkSuspects(fail func(string, ...any), in Input, p Plan) {
	ordinals, moRefs := map[int32]bool{}, map[string]bool{}
	for _, k := range in.Known {
		if ordinals[k.Ordinal] || moRefs[k.MoRef] {
			return // an invalid status: which record counts is undefined
		}
		ordinals[k.Ordinal], moRefs[k.MoRef] = true, k.MoRef != ""
	}
	vms := vmsByOrdinal(p)
	for _, k := range in.Known {
		seen := slices.ContainsFunc(in.Observation.VMs, func(vm vsphere.VM) bool { return vm.Ref.Value == k.MoRef })
		if k.MoRef == "" || seen || slices.Contains(in.Observation.Gone, vsphere.VMRef(k.MoRef)) {
			continue
		}
		if s, ok := vms[k.Ordinal]; !ok || s.MoRef != k.MoRef {
			fail("%s is not confirmed gone, but forgotten or replaced", k.MoRef)
		}
	}
}

// checkOperations: one operation per ordinal at a time.
func checkOperations(fail func(string, ...any), in Input, p Plan) {
	acted := map[int32]bool{}
	for _, a := range p.Actions {
		if acted[a.Ordinal] {
			fail("two actions for ordinal %d", a.Ordinal)
		}
		acted[a.Ordinal] = true
		for _, op := range in.Observation.InFlight {
			within, graceful := grace(in)
			late := op.Kind == vsphere.OpShutdownGuest && (!graceful || in.Now.Sub(op.Since) >= within || hadItsTime(in, a.Ordinal, op.VM.Value))
			if op.Ordinal == a.Ordinal && !late {
				fail("%s %s while %s is in flight", a.Kind, a.Name, op.Kind)
			}
		}
		for _, f := range in.Observation.Failures {
			if f.Ordinal == a.Ordinal && f.Kind == a.operation() && f.RetryAt.After(in.Now) && concerns(in, f, a) {
				fail("%s %s is repeated too early", a.Kind, a.Name)
			}
		}
	}
}

// concerns is true for a failure that an action has to wait for. A failure while the VM was on does not delay actions
// once it was stopped.
func concerns(in Input, f vsphere.Failure, a Action) bool {
	switch {
	case f.Revision != "" && f.Revision != a.Revision && (f.Kind == vsphere.OpClone || f.Kind == vsphere.OpReconfigure):
		return false
	case a.Kind == ReconfigureVM && stoppedSince(in, a.Ordinal, f.At):
		return false
	}
	return vsphere.KindOf(f.Err) != vsphere.KindOffOnly || observedVM(in, a.MoRef).Power != vsphere.PoweredOff
}

// anyInput draws inputs, including impossible ones.
func anyInput(t *rapid.T) Input {
	ordinal := rapid.Int32Range(0, 5)
	flag := func(label string) bool { return rapid.Bool().Draw(t, label) }
	rarely := func(label string) bool { return rapid.IntRange(0, 7).Draw(t, label) == 0 }
	ago := func(label string) time.Time {
		return epoch.Add(-time.Duration(rapid.IntRange(-5, 10).Draw(t, label)) * time.Minute)
	}
	in := input(rapid.Int32Range(0, 6).Draw(t, "replicas"))
	in.Observation.Complete = !rarely("incomplete")
	in.Deleting = rarely("deleting")
	in.Keep = flag("keep")
	if rarely("paused") {
		paused(&in)
	}
	if rarely("createBlocked") {
		createBlocked(&in)
	}
	drawSpec(t, &in.Spec)
	refs := rapid.Permutation([]string{"vm-1", "vm-2", "vm-3", "vm-4", "vm-5", "vm-6", "vm-7", "vm-8"}).Draw(t, "refs")
	for _, moRef := range refs[:rapid.IntRange(0, len(refs)).Draw(t, "vms")] {
		o := ordinal.Draw(t, "stamp")
		vm := makeVM(o, ref(moRef), incarnation(o, rapid.Int32Range(0, 2).Draw(t, "incarnation")),
			created(time.Duration(rapid.IntRange(0, 3).Draw(t, "created"))*time.Minute))
		vm.Power = rapid.SampledFrom([]vsphere.PowerState{vsphere.PoweredOn, vsphere.PoweredOff, vsphere.Suspended, vsphere.PowerUnknown}).Draw(t, "power")
		vm.Tombstone = rarely("tombstone")
		if vm.Connection = vsphere.Connected; rarely("disconnected") {
			vm.Connection = vsphere.Disconnected
		}
		if rarely("outside") {
			vm.Folder = away
		}
		vm.ToolsRunning = flag("tools")
		if rarely("renamed") {
			vm.Name = VMName(groupName, ordinal.Draw(t, "name"))
		}
		if rarely("unstamped") {
			vm.Stamp = nil
		}
		if vm.Stamp != nil {
			s := *vm.Stamp
			s.Revision = rapid.SampledFrom([]string{revision, revision, "1-old", resized.Revision, replaced.Revision}).Draw(t, "revision")
			vm.Stamp = &s
		}
		vm.CPU, vm.MemoryMiB = rapid.Int32Range(1, 3).Draw(t, "cpu"), 4096
		vm.HotAdd.CPU, vm.HeartbeatGreen = flag("hot add"), flag("heartbeat")
		in.Observation.VMs = append(in.Observation.VMs, vm)
	}
	moRefs := append([]string{"", "", "vm-91", "vm-92"}, refs...)
	for range rapid.IntRange(0, 6).Draw(t, "known") {
		k := makeKnown(ordinal.Draw(t, "known ordinal"))
		k.MoRef = rapid.SampledFrom(moRefs).Draw(t, "known moRef")
		k.Incarnation = rapid.Int32Range(0, 1).Draw(t, "known incarnation")
		k.UUID = InstanceUUID(groupID.Key(), k.Ordinal, k.Incarnation)
		if flag("never ready") {
			k.ReadySince = time.Time{}
		}
		if rarely("asked") {
			k.ShutdownTime = ago("asked ago")
		}
		if flag("starting") {
			k.StartTime = ago("started ago")
		}
		k.Updating = rarely("updating")
		in.Known = append(in.Known, k)
		switch {
		case k.MoRef == "" || flag("suspect"):
		case flag("gone"):
			in.Observation.Gone = append(in.Observation.Gone, vsphere.VMRef(k.MoRef))
		default:
			in.Observation.Elsewhere = append(in.Observation.Elsewhere, vsphere.VMRef(k.MoRef))
		}
	}
	in.Doomed = rapid.SliceOfN(ordinal, 0, 2).Draw(t, "doomed")
	for range rapid.IntRange(0, 2).Draw(t, "listed") {
		in.Listed = append(in.Listed, Listed{Name: VMName(groupName, ordinal.Draw(t, "listed ordinal")), MoRef: rapid.SampledFrom(moRefs).Draw(t, "listed moRef")})
	}
	in.MayStay = rapid.Int32Range(0, 4).Draw(t, "may stay")
	if rarely("held") {
		removalHeld(&in)
	}
	in.Observation.Lacks = rapid.SampledFrom([][]string{nil, nil, {vsphere.PrivilegeCPUs}, {vsphere.PrivilegeMemory}, {vsphere.PrivilegeExtraConfig}}).Draw(t, "lacks")
	anyUpdate(t, &in)
	kinds := rapid.SampledFrom([]vsphere.OperationKind{
		vsphere.OpReconfigure, vsphere.OpClone, vsphere.OpPowerOn, vsphere.OpPowerOff, vsphere.OpShutdownGuest, vsphere.OpMark, vsphere.OpDestroy, vsphere.OpRelease,
	})
	for range rapid.IntRange(0, 2).Draw(t, "operations") {
		in.Observation.InFlight = append(in.Observation.InFlight, vsphere.Operation{
			Kind: kinds.Draw(t, "operation"), Ordinal: ordinal.Draw(t, "operation ordinal"), Since: ago("since"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "failures") {
		in.Observation.Failures = append(in.Observation.Failures, vsphere.Failure{
			Kind: kinds.Draw(t, "failed"), Ordinal: ordinal.Draw(t, "failed ordinal"), RetryAt: ago("retry"),
			Err: said{rapid.SampledFrom([]vsphere.Kind{
				vsphere.KindNameTaken, vsphere.KindCapacity, vsphere.KindPermission, vsphere.KindOffOnly,
			}).Draw(t, "kind"), "It failed."},
			Revision: rapid.SampledFrom([]string{"", revision, "1-old"}).Draw(t, "failed revision"),
		})
	}
	return in
}

// resized and replaced are shapes of older VMs that are changed, and that are replaced.
var resized, replaced = func() (v1alpha1.Revision, v1alpha1.Revision) {
	smaller, older := validSpec(0), validSpec(0)
	smaller.CPU, older.Template = 1, "debian-11"
	return ShapeOf(smaller), ShapeOf(older)
}()

// anyUpdate draws a status of an update, and its obstacles.
func anyUpdate(t *rapid.T, in *Input) {
	flag := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 }
	in.Spec.UpdateStrategy = anyStrategy(t)
	in.Revision = Revision(in.Spec)
	in.UpdateRevision = in.Revision
	in.Edited, in.Desired = flag("edited"), rapid.Int32Range(0, 6).Draw(t, "desired")
	for _, shape := range []v1alpha1.Revision{resized, replaced} {
		if !flag("unknown") {
			in.Shapes = append(in.Shapes, Shape{Recorded: shape})
		}
	}
	if len(in.Shapes) > 0 && flag("shape blocked") {
		in.Shapes[0].Blocked = &Blocker{Reason: v1alpha1.ReasonNotGranted, Message: "Not granted.", Terminal: flag("for good")}
	}
	if !flag("no rollout") {
		in.Rollout = &Rollout{Revision: in.UpdateRevision, Start: epoch.Add(-time.Hour)}
		if flag("another") {
			in.Rollout.Revision = "1-before"
		}
		in.Rollout.From = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1-old", revision, resized.Revision, replaced.Revision}), 0, 4, rapid.ID).Draw(t, "from")
		if rapid.Bool().Draw(t, "failed") {
			in.Rollout.Failed = []string{InstanceUUID(groupID.Key(), rapid.Int32Range(0, 5).Draw(t, "failed VM"), 0)}
		}
	}
	if flag("update blocked") {
		in.UpdateBlocked = &Blocker{Reason: v1alpha1.ReasonPolicyViolated, Message: "Forbidden.", Terminal: true}
	}
	in.Surge = muchRoom
	if flag("quota") {
		in.Surge = SurgeRoom{VMs: rapid.Int32Range(0, 2).Draw(t, "room")}
	}
}

// drawSpec varies the parts of a valid spec that a plan depends on.
func drawSpec(t *rapid.T, s *v1alpha1.VmGroupSpec) {
	s.PowerState = rapid.SampledFrom([]v1alpha1.PowerState{"", v1alpha1.PoweredOn, v1alpha1.PoweredOff}).Draw(t, "powerState")
	s.DeletionPolicy = rapid.SampledFrom([]v1alpha1.DeletionPolicy{
		"", v1alpha1.DeletionDelete, v1alpha1.DeletionRetain,
	}).Draw(t, "deletionPolicy")
	s.Repair = &v1alpha1.Repair{Mode: rapid.SampledFrom([]v1alpha1.RepairMode{
		"", v1alpha1.RepairEnforce, v1alpha1.RepairObserve}).Draw(t, "repair")}
	if n := rapid.Int32Range(-1, 3).Draw(t, "maxUnhealthy"); n >= 0 {
		s.Repair.MaxUnhealthy = ptr(intstr.FromInt32(n))
	}
	s.ScaleDown = &v1alpha1.ScaleDown{Order: rapid.SampledFrom([]v1alpha1.ScaleDownOrder{
		"", v1alpha1.ScaleDownOldest}).Draw(t, "order")}
	for _, o := range rapid.SliceOfN(rapid.Int32Range(0, 5), 0, 2).Draw(t, "deleteFirst") {
		s.ScaleDown.DeleteFirst = append(s.ScaleDown.DeleteFirst, VMName(groupName, o))
	}
	s.Shutdown = anyShutdown(t)
	s.Readiness = anyReadiness(t)
}

func anyShutdown(t *rapid.T) *v1alpha1.Shutdown {
	return rapid.SampledFrom([]*v1alpha1.Shutdown{
		nil, {}, {Mode: v1alpha1.ShutdownHard, TimeoutSeconds: 180}, {Mode: v1alpha1.ShutdownGraceful, TimeoutSeconds: 30}, {TimeoutSeconds: 300},
	}).Draw(t, "shutdown")
}

func TestRulesHoldForAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		p := Compute(in)
		checkRules(t, in, p)
		clones, others := rapid.IntRange(-1, 4).Draw(t, "clones"), rapid.IntRange(-1, 4).Draw(t, "others")
		l := p.Limit(clones, others)
		checkRules(t, in, l)
		if l.Creates() != min(p.Creates(), max(clones, 0)) || l.Tasks() != min(p.Tasks(), max(others, 0)) {
			t.Fatalf("Limit(%d, %d) of %s leaves %s", clones, others, actionsOf(p), actionsOf(l))
		}
	})
}

// stoppedSince is true for a VM that was stopped for a change after a change of it failed.
func stoppedSince(in Input, ordinal int32, at time.Time) bool {
	return slices.ContainsFunc(in.Known, func(k Known) bool { return k.Ordinal == ordinal && k.Updating && at.Before(k.StoppedAt) })
}
