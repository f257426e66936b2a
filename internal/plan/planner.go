package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// planner is the state that the passes share.
type planner struct {
	in   *Input
	spec settings
	ops  operations

	// members by ordinal; ordinals are the sorted keys.
	members  map[int32]*member
	ordinals []int32
	// unclaimed are stamped VMs that no record names, by the ordinal of their stamp.
	unclaimed map[int32][]*vsphere.VM
	// taken are the ordinals whose name another VM in the folder has.
	taken map[int32]*vsphere.VM
	// uuids are the instance UUIDs of the observed VMs, in lower case; see uuidTaken.
	uuids map[string]bool
	// adopting are the members that are being taken over, by managed object reference.
	adopting map[string]*member
	// doomed are the ordinals that leave for good.
	doomed map[int32]bool

	// gate is that of spec; gateChanges is true if it asks for more than the one that status records.
	gate        Gate
	gateChanges bool
	// handsOff is true when nothing may be decided: the group is paused, the observation incomplete, or its VMs are another
	// installation's.
	handsOff bool
	// roll is the update of VMs to the revision of spec.
	roll rollout
	// deniedNow is the VM by which is found out whether the account may change VMs, or nil: see deniedToTry.
	deniedNow *member
	// busyNow is the VM that was stopped to be changed in vain, or nil: see busy.go. No other is stopped before its time is over.
	busyNow *member
	// repairHeld is true when maxUnhealthy forbids repairs.
	repairHeld bool
	// templates are members that somebody converted to templates: vCenter changes nothing of such a VM but its mark.
	templates []*member
	// surplusHeld is true when VMs would be chosen to leave, were it not for a hold.
	surplusHeld bool
	// createsWanted is the number of VMs that are missing, whether or not they may be created now.
	createsWanted int

	// actions of all passes; finish puts them in order.
	actions  []Action
	blockers blockers
	plan     Plan
}

// pass is one step of Compute.
type pass struct {
	name string
	run  func(*planner)
	// looks is true for a pass that decides nothing: it also runs on an incomplete observation and while paused.
	looks bool
}

var passes = []pass{
	{name: "classify", run: (*planner).classify, looks: true},
	{name: "adoption", run: (*planner).adoption, looks: true},
	{name: "installation", run: (*planner).installation, looks: true},
	{name: "takeOver", run: (*planner).takeOver, looks: true},
	{name: "list", run: (*planner).list, looks: true},
	{name: "begin", run: (*planner).begin, looks: true},
	{name: "failures", run: (*planner).failures, looks: true},
	{name: "aim", run: (*planner).aim},
	{name: "readiness", run: (*planner).readiness, looks: true},
	{name: "reprieve", run: (*planner).reprieve},
	{name: "deletion", run: (*planner).deletion, looks: true},
	{name: "hold", run: (*planner).hold},
	{name: "aim", run: (*planner).aim},
	{name: "repair", run: (*planner).repair},
	{name: "replicas", run: (*planner).replicas},
	{name: "update", run: (*planner).update},
	{name: "removal", run: (*planner).removal},
	{name: "power", run: (*planner).power},
	{name: "conclude", run: (*planner).conclude, looks: true},
}

// Compute decides what to do next. It never fails: what cannot be done is a Blocker.
//
// Actions come in this order: what doomed VMs need, because it frees names and room, the last step first; then
// power; then clones. Actions of one kind stand together, by ordinal. No ordinal is in two actions.
func Compute(in Input) Plan {
	p := &planner{in: &in, spec: settingsOf(&in)}
	p.ops = newOperations(&in, p.spec)
	p.gate, p.gateChanges = gateOf(&in, p.spec)
	p.handsOff = in.Paused != nil || !in.Observation.Complete
	for _, pass := range passes {
		if pass.looks || !p.handsOff {
			pass.run(p)
		}
	}
	p.explainInput()
	return p.finish()
}

// explainInput adds the blockers that the input itself brings.
func (p *planner) explainInput() {
	if p.in.Paused != nil {
		p.blockers.add(rankPaused, *p.in.Paused)
	}
	if !p.in.Observation.Complete {
		message := p.in.Observation.Incomplete
		if message == "" {
			message = "The inventory of vCenter is not complete; nothing is created or deleted until it is."
		}
		p.blockers.add(rankIncomplete, Blocker{Reason: v1alpha1.ReasonInventoryIncomplete, Message: message})
	}
	if len(p.templates) > 0 {
		p.blockers.add(rankLost, Blocker{
			Reason: v1alpha1.ReasonConvertedToTemplate,
			Brief:  about(p.templates, "was converted to a template", "were converted to templates"),
			Message: fmt.Sprintf("Converted to templates, so that they can be neither started nor removed: %s. Ask the platform team to convert them back to virtual machines; "+
				"all goes on by itself then.", enumerate(labels(p.templates))),
			Terminal: true,
		})
	}
	if p.in.Deleting {
		return
	}
	for _, b := range p.spec.blockers {
		p.blockers.add(rankSpec, b)
	}
	if b := p.in.CreateBlocked; b != nil && p.createsWanted > 0 {
		p.blockers.add(rankCreate, *b)
	}
}

// finish turns the table into the Plan.
func (p *planner) finish() Plan {
	plan := &p.plan
	plan.Desired, plan.Replaced, plan.Gate = p.spec.desired, p.nowReplaced(), p.gate
	plan.Actions = p.actions
	slices.SortFunc(plan.Actions, func(a, b Action) int {
		return cmp.Or(turn[a.Kind]-turn[b.Kind], cmp.Compare(a.Ordinal, b.Ordinal))
	})
	p.explainHanging()
	for _, m := range p.table() {
		plan.VMs = append(plan.VMs, m.status)
		if m.doomed || !m.exists() {
			continue
		}
		plan.Existing++
		if m.status.Available {
			plan.Ready++
		}
	}
	for ordinal := range p.doomed {
		plan.Doomed = append(plan.Doomed, ordinal)
	}
	slices.Sort(plan.Doomed)
	p.wakeForGuests()
	p.explainNames()
	plan.Blockers = p.blockers.sorted()
	complete := p.in.Observation.Complete
	idle := len(p.in.Observation.InFlight) == 0
	plan.Gone = p.in.Deleting && p.in.Paused == nil && complete && p.leftNothing() && len(plan.VMs) == 0
	plan.Settled = complete && idle && len(plan.Actions) == 0 && len(plan.Doomed) == 0 &&
		plan.Existing == p.wanted() && plan.Ready == p.wanted() && plan.Update.Reason != v1alpha1.ReasonRolloutProgressing &&
		!slices.ContainsFunc(plan.Blockers, func(b Blocker) bool { return !b.Remark })
	plan.Kept = p.kept()
	return *plan
}

// leftNothing is true once no operation is waited for. A task that hangs on another group's VM, such as a move during an adoption,
// does not hold the deletion: a process that took over would not know about the task. A clone holds the deletion, since its VM would
// have no group.
func (p *planner) leftNothing() bool {
	return !slices.ContainsFunc(p.in.Observation.InFlight, func(op vsphere.Operation) bool { return op.Kind == vsphere.OpClone || !op.Hangs(p.in.Now) })
}

// table returns the members that stay, by ordinal.
func (p *planner) table() []*member {
	table := make([]*member, 0, len(p.ordinals))
	for _, ordinal := range p.ordinals {
		if m := p.members[ordinal]; !m.dropped {
			table = append(table, m)
		}
	}
	return table
}

// member returns the member of an ordinal, or nil when nothing is there.
func (p *planner) member(ordinal int32) *member {
	if m := p.members[ordinal]; m != nil && !m.dropped {
		return m
	}
	return nil
}

// insert adds a member or puts it in the place of one. The caller sorts the ordinals when it is done.
func (p *planner) insert(m *member) {
	if p.members[m.status.Ordinal] == nil {
		p.ordinals = append(p.ordinals, m.status.Ordinal)
	}
	p.members[m.status.Ordinal] = m
}

// wake asks to be run again at t.
func (p *planner) wake(t time.Time) {
	if t.After(p.in.Now) && (p.plan.WakeAt.IsZero() || t.Before(p.plan.WakeAt)) {
		p.plan.WakeAt = t
	}
}

// turn is the order of actions. A removal and spec.powerState both power off; it is the same step.
var turn = map[ActionKind]int{
	DestroyVM: 0, PowerOffVM: 1, MarkVM: 2, ReleaseVM: 3, ReconfigureVM: 4, PowerOnVM: 5, ShutdownGuest: 6, CreateVM: 7, RestampVM: 8,
	AdoptVM: 9, RenameVM: 10, MoveVM: 11, ClaimVM: 12, CancelClone: 13,
}

// operationOf names the operation that an action becomes.
var operationOf = map[ActionKind]vsphere.OperationKind{
	CreateVM: vsphere.OpClone, PowerOnVM: vsphere.OpPowerOn, PowerOffVM: vsphere.OpPowerOff, ShutdownGuest: vsphere.OpShutdownGuest,
	MarkVM: vsphere.OpMark, DestroyVM: vsphere.OpDestroy, ReleaseVM: vsphere.OpRelease, RestampVM: vsphere.OpRestamp,
	ClaimVM: vsphere.OpClaim, MoveVM: vsphere.OpMove, RenameVM: vsphere.OpRename, AdoptVM: vsphere.OpAdopt,
	ReconfigureVM: vsphere.OpReconfigure,
}

// failureOf returns the failure that this action had last, or nil.
func (p *planner) failureOf(m *member, a Action) *failure {
	switch a.Kind {
	case CreateVM:
		return p.ops.cloneFailure(a.Ordinal, a.Revision)
	case ReconfigureVM:
		f := p.ops.reconfigureFailure(a.Ordinal, a.Revision)
		if f != nil && m.vm.Power == vsphere.PoweredOff && m.status.Updating && f.At.Before(m.status.StoppedAt) {
			return nil // it was on then
		}
		if f != nil && vsphere.KindOf(f.Err) == vsphere.KindOffOnly && m.vm.Power == vsphere.PoweredOff {
			return nil // it is off now
		}
		return f
	}
	return p.ops.failure(a.Ordinal, operationOf[a.Kind])
}

// try adds an action, unless the ordinal is busy or the last attempt failed and it is too early for
// the next, and reports whether it did. A failure stays visible while it is being tried again, so that status does not flicker.
func (p *planner) try(m *member, a Action) bool {
	a.Ordinal, a.Name, a.Cause = m.status.Ordinal, m.status.Name, p.causeOf(m, a)
	if m.vm != nil && m.vm.IsTemplate {
		return false
	}
	if m.vm != nil {
		a.MoRef, a.ChangeVersion = m.vm.Ref.Value, m.vm.ChangeVersion
	}
	busy := p.ops.blocked(a.Ordinal, a.Kind)
	if f := p.failureOf(m, a); f != nil {
		p.blockers.addFailure(f)
		m.status.Message = f.message
		if !m.doomed && !busy && m.status.Phase != v1alpha1.VMReady { // what is ready stays so: only a change of it failed
			m.status.Phase = v1alpha1.VMFailed
		}
		a.Quiet = f.reason == v1alpha1.ReasonForeignDisk
		if f.waits(p.in.Now, m.vm) {
			p.wake(f.RetryAt)
			return false
		}
	}
	if !busy {
		p.actions = append(p.actions, a)
	}
	return !busy
}
