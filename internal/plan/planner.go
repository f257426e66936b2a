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

	// members by ordinal; ordinals has the sorted keys.
	members  map[int32]*member
	ordinals []int32
	// unclaimed has the stamped VMs that no record names, by the ordinal of their stamp.
	unclaimed map[int32][]*vsphere.VM
	// taken has the VMs in the folder that have the name of an ordinal, by this ordinal.
	taken map[int32]*vsphere.VM
	// uuids has the instance UUIDs of the observed VMs, in lower case; see uuidTaken.
	uuids map[string]bool
	// adopting has the members that are being adopted, by managed object reference.
	adopting map[string]*member
	// doomed has the ordinals that leave for good.
	doomed map[int32]bool

	// gate is that of spec. gateChanges is true if it asks for more than the recorded one.
	gate        Gate
	gateChanges bool
	// handsOff is true if no action can be planned: the group is paused, the observation is incomplete, an adoption is in progress, or its VMs are another installation's.
	handsOff bool
	// roll is the update of VMs to the target revision.
	roll rollout
	// deniedNow is the VM that is tried to find out whether the account can change VMs, or nil: see deniedToTry.
	deniedNow *member
	// busyNow is the VM that was stopped to be changed in vain, or nil: see busy.go. No other VM is stopped before busyPause ends.
	busyNow *member
	// repairHeld is true when maxUnhealthy forbids repairs.
	repairHeld bool
	// templates are members that a person converted to templates. vCenter can change only the mark of such a VM.
	templates []*member
	// surplusHeld is true if VMs would be chosen to leave without the hold.
	surplusHeld bool
	// createsWanted is the number of missing VMs, whether or not they can be created now.
	createsWanted int

	// actions of all passes; finish sorts them.
	actions  []Action
	blockers blockers
	plan     Plan
}

// pass is one step of Compute.
type pass struct {
	name string
	run  func(*planner)
	// looks is true for a pass that decides nothing. It also runs on an incomplete observation and while the group is paused.
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
	{name: "identify", run: (*planner).identify},
	{name: "conclude", run: (*planner).conclude, looks: true},
}

// Compute returns the next actions. It never fails: an action that is not possible is a Blocker.
//
// Actions come in this order: those of doomed VMs, because they free names and room, the last step first; then power; then clones. Actions of one kind stand together, by
// ordinal. No ordinal is in two actions.
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

// explainInput adds the blockers that the input contains.
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
			Message: fmt.Sprintf("Converted to templates, so that they can be neither started nor removed: %s. Ask a hub administrator to convert them back to virtual machines; "+
				"the operator then continues automatically.", enumerate(labels(p.templates))),
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

// finish builds the Plan from the table.
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

// leftNothing is true if the deletion waits for no operation. A hanging task on another group's VM, such as a move during an adoption, does not block the deletion: after a
// takeover, a new process would not know the task. A clone blocks the deletion, because its VM would have no group.
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

// member returns the member of an ordinal, or nil if the table has none.
func (p *planner) member(ordinal int32) *member {
	if m := p.members[ordinal]; m != nil && !m.dropped {
		return m
	}
	return nil
}

// insert adds or replaces a member. The caller sorts the ordinals afterwards.
func (p *planner) insert(m *member) {
	if p.members[m.status.Ordinal] == nil {
		p.ordinals = append(p.ordinals, m.status.Ordinal)
	}
	p.members[m.status.Ordinal] = m
}

// wake schedules a run at t.
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

// operationOf maps an action to its operation.
var operationOf = map[ActionKind]vsphere.OperationKind{
	CreateVM: vsphere.OpClone, PowerOnVM: vsphere.OpPowerOn, PowerOffVM: vsphere.OpPowerOff, ShutdownGuest: vsphere.OpShutdownGuest,
	MarkVM: vsphere.OpMark, DestroyVM: vsphere.OpDestroy, ReleaseVM: vsphere.OpRelease, RestampVM: vsphere.OpRestamp,
	ClaimVM: vsphere.OpClaim, MoveVM: vsphere.OpMove, RenameVM: vsphere.OpRename, AdoptVM: vsphere.OpAdopt,
	ReconfigureVM: vsphere.OpReconfigure,
}

// operation returns the operation of the action.
func (a Action) operation() vsphere.OperationKind {
	if a.Identify {
		return vsphere.OpIdentify
	}
	return operationOf[a.Kind]
}

// failureOf returns the last failure of this action, or nil.
func (p *planner) failureOf(m *member, a Action) *failure {
	switch a.Kind {
	case CreateVM:
		return p.ops.cloneFailure(a.Ordinal, a.Revision)
	case ReconfigureVM:
		f := p.ops.reconfigureFailure(a.Ordinal, a.Revision)
		if f != nil && m.vm.Power == vsphere.PoweredOff && m.status.Updating && f.At.Before(m.status.StoppedAt) {
			return nil // the VM was on then
		}
		if f != nil && vsphere.KindOf(f.Err) == vsphere.KindOffOnly && m.vm.Power == vsphere.PoweredOff {
			return nil // the VM is off now
		}
		return f
	}
	return p.ops.failure(a.Ordinal, a.operation())
}

// try adds an action and reports whether it did. It does not if the ordinal is busy, or if the last attempt failed and the retry is not due. A failure stays visible during a
// retry, so that status does not flicker.
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
		if !f.passing() {
			p.blockers.addFailure(f)
			m.status.Message = f.message
			if !m.doomed && !busy && m.status.Phase != v1alpha1.VMReady { // a ready VM stays so: only its change failed
				m.status.Phase = v1alpha1.VMFailed
			}
		}
		a.Quiet = f.reason == v1alpha1.ReasonForeignDisk || f.reason == v1alpha1.ReasonGrowthBlocked
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
