package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// operator is the replica that owns the group, with its memory.
type operator struct {
	world *world
	// epoch under which it acts. It rises with each takeover.
	epoch int64
	// due is true if a pass must run now. wakeAt is the requested time of the next pass, or zero.
	due    bool
	wakeAt time.Time
	// passed is the time of the last pass.
	passed time.Time
	// reported is the time of its last write of status. outOfSight is the time since which it cannot see the VMs, or zero.
	reported, outOfSight time.Time
	// written is true after its first write to the group.
	written bool
	// claimed is the answer about VMs to adopt, valid until claimedUntil.
	claimed      *group.AdoptionAnswer
	claimedUntil time.Time
	// dies is the point of its death in one of its next passes.
	dies death
}

// death is the point at which a replica dies.
type death int

const (
	lives death = iota
	diesAfterRecord
	diesAfterStatus
	diesAfterFirstCall
)

var errDead = errors.New("the replica died")

// wake requests a pass.
func (o *operator) wake(string) { o.due = true }

// takeover replaces the operator by another replica, which remembers nothing.
func (o *operator) takeover() {
	w := o.world
	*o = operator{world: w, epoch: o.epoch + 1, due: true}
	w.vc.takeover()
}

// pass is one pass over the group.
func (o *operator) pass() {
	w := o.world
	o.due, o.wakeAt, o.passed = false, time.Time{}, w.now
	if w.api.group == nil {
		return
	}
	s := o.gather()
	for _, m := range w.vc.own() {
		unseen := s.Unseen() || m.hidden || m.folder == elsewhere
		switch {
		case m.blinked && unseen:
		case unseen:
			m.lookedAt, m.blinked = w.now, true
		default:
			m.look(w.now, &w.api.group.Spec)
		}
	}
	after, err := o.run(s)
	switch {
	case errors.Is(err, errDead):
		w.say("the replica dies")
		o.takeover()
		return
	case err != nil:
		after = time.Second
		w.say("the pass fails: %v", err)
	}
	if after > 0 {
		o.wakeAt = w.now.Add(after)
	}
	w.audit.afterPass(w)
}

// run alternates between decisions and their execution.
func (o *operator) run(s *group.Snapshot) (after time.Duration, err error) {
	done := map[group.Step]bool{}
	for {
		d := group.Decide(s)
		if done[d.Step] {
			o.world.audit.violated(o.world, "step-twice", "step %s was carried out and is asked for again", d.Step)
			return 0, nil
		}
		done[d.Step] = true
		end, refused, err := o.carryOut(s, d)
		switch {
		case err != nil:
			return 0, err
		case end && refused && (d.After == 0 || d.After > group.RetryInterval):
			return group.RetryInterval, nil
		case end:
			return d.After, nil
		}
	}
}

// carryOut executes a decision.
func (o *operator) carryOut(s *group.Snapshot, d group.Decision) (end, refused bool, err error) {
	w := o.world
	switch d.Step {
	case group.AddFinalizer:
		s.Group, err = w.api.finalize(s.Group, true)
		o.written = o.written || err == nil
		s.Written = o.written
		return false, false, err
	case group.ReadDefinition:
		s.Definition = w.definition()
		return false, false, nil
	case group.ClaimAdoption:
		o.claim(s)
		return false, false, nil
	case group.MakeFolder:
		s.FolderMade = &group.Attempt{}
		if w.vc.away {
			s.FolderMade.Err = fault(vsphere.KindTransient, "make the folder", "no route to host")
			return false, false, nil
		}
		folder := w.vc.ensure(groupLeaf())
		s.Folder = &v1alpha1.FolderStatus{Path: folder.Path, MoRef: folder.Ref.Value}
		return false, false, nil
	case group.AskQuota:
		s.Quota = w.ledger.ask(d.Quota)
		return false, false, nil
	case group.ReadUserData:
		s.UserData = w.secrets(d.Secrets)
		return false, false, nil
	case group.RemoveFolder:
		s.FolderRemoved = &group.Attempt{Err: w.vc.destroyFolder(s.Folder.MoRef)}
		return false, false, nil
	case group.WriteReceipt:
		w.audit.lets(w)
		s.Receipt = &group.ReceiptAnswer{Receipt: *d.Receipt}
		if w.hub.away {
			s.Receipt.Err = errors.New("the hub does not answer")
		} else {
			w.hub.receipt = d.Receipt
		}
		return false, false, nil
	case group.Release:
		w.say("the group goes")
		_, err = w.api.finalize(s.Group, false)
	case group.RecordOwner, group.Report:
		s.Group, err = o.writeStatus(s, d)
		return d.Step == group.Report, false, err
	case group.PutRecord:
		if w.hub.away {
			return true, false, errors.New("the hub does not answer")
		}
		w.hub.put(d.Record)
		if s.Recorded = (&group.RecordAnswer{}); o.dies == diesAfterRecord {
			return true, false, errDead
		}
		return false, false, nil
	case group.Act:
		return o.act(s, d)
	case group.Wait:
	default:
		w.audit.violated(w, "unknown-step", "the world does not know step %s", d.Step)
	}
	return true, false, err
}

// act stores status, and then submits actions.
func (o *operator) act(s *group.Snapshot, d group.Decision) (end, refused bool, err error) {
	w := o.world
	if d.AdoptionEnds && s.Adoption.Answer != nil {
		w.hub.adoptable = nil
	}
	if s.Group, err = o.writeStatus(s, d); err != nil {
		return true, false, err
	}
	if o.dies == diesAfterStatus && d.Status != nil {
		return true, false, errDead
	}
	actions := o.limited(&d.Plan)
	w.audit.beforeActions(w, s, d, actions)
	for i := range actions {
		a := &actions[i]
		err := o.submit(s, d, a)
		w.say("  %s %s %s rev %s (%s): %v", a.Kind, a.Name, a.MoRef, a.Revision, a.Reason, err)
		if o.dies == diesAfterFirstCall {
			return true, false, errDead
		}
		if err != nil && vsphere.KindOf(err) != vsphere.KindForeignDisk {
			return true, true, nil
		}
	}
	return true, false, nil
}

// limited returns the actions that the slots allow now.
func (o *operator) limited(p *plan.Plan) []plan.Action {
	if o.world.vc.slots == 0 {
		return p.Actions
	}
	free := o.world.vc.slots
	for _, t := range slices.Concat(o.world.vc.tasks, o.world.vc.orphans) {
		if t.op.Kind != vsphere.OpShutdownGuest {
			free--
		}
	}
	var some []plan.Action
	for _, a := range p.Actions {
		if a.Kind != plan.ShutdownGuest {
			if free <= 0 {
				continue
			}
			free--
		}
		some = append(some, a)
	}
	return some
}

// writeStatus stores status, if the decision has one.
func (o *operator) writeStatus(s *group.Snapshot, d group.Decision) (*v1alpha1.VmGroup, error) {
	w := o.world
	if d.Status == nil {
		return s.Group, nil
	}
	next, err := w.api.writeStatus(s.Group, d.Status)
	if err != nil {
		return s.Group, err
	}
	o.reported, o.written, s.Written = w.now, true, true
	if w.log != nil {
		w.say("status: %s", describe(d.Status))
	}
	w.audit.statusWritten(w, s.Group, next)
	return next, nil
}

// submit sends an action to vCenter.
func (o *operator) submit(s *group.Snapshot, d group.Decision, a *plan.Action) error {
	v := &o.world.vc
	switch a.Kind {
	case plan.CreateVM:
		shape, known := d.Shape(a.Revision)
		if !known {
			return fault(vsphere.KindSpec, "clone "+a.Name, "the shape of the revision is unknown")
		}
		return v.clone(cloneOf{
			name: a.Name, uuid: a.UUID, folder: s.Folder.MoRef, template: shape.Spec.Template, network: shape.Names.Placement.Network.Value,
			cpu: shape.Spec.CPU, memory: int64(shape.Spec.Memory) * 1024, rootGiB: shape.Spec.Shape().RootDiskGiB(), data: plan.WantedDisks(shape.Spec.Shape()), stamp: vsphere.Stamp{
				GroupID: s.ID, Ordinal: a.Ordinal, Incarnation: a.Incarnation, Revision: a.Revision, CloneMode: "Full", Epoch: vsphere.Epoch(s.Epoch), Created: s.Now,
			},
		})
	case plan.PowerOnVM:
		return v.powerOn(a.Ordinal, a.MoRef)
	case plan.PowerOffVM:
		return v.powerOff(a.Ordinal, a.MoRef)
	case plan.ShutdownGuest:
		return v.shutdown(a.Ordinal, a.MoRef, a.Within)
	case plan.MarkVM:
		return v.markVM(a.Ordinal, a.MoRef, a.ChangeVersion)
	case plan.DestroyVM:
		return v.destroy(a.Ordinal, a.MoRef)
	case plan.ReleaseVM:
		return v.release(a.Ordinal, a.MoRef)
	case plan.ReconfigureVM:
		return v.reconfigure(a)
	case plan.MoveVM:
		return v.move(a.Ordinal, a.MoRef, s.Folder.MoRef)
	case plan.RenameVM:
		return v.rename(a.Ordinal, a.MoRef, a.Name)
	case plan.AdoptVM:
		stamp := vsphere.Stamp{GroupID: s.ID, Ordinal: a.Ordinal, Revision: a.Revision, Epoch: vsphere.Epoch(s.Epoch), UUID: a.UUID}
		if old := a.Origin.Stamp; old != nil {
			stamp.CloneMode, stamp.Created = old.CloneMode, old.Created
		}
		return v.adopt(a.Ordinal, a.MoRef, a.ChangeVersion, stamp)
	}
	return fault(vsphere.KindSpec, string(a.Kind), "the world does not know this")
}

// describe returns a status in one line.
func describe(st *v1alpha1.VmGroupStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d/%d ready %d updated %d deleting %v: %s", st.Phase, st.Replicas, st.DesiredReplicas, st.ReadyReplicas, st.UpdatedReplicas, st.Deleting, st.LastMessage)
	for _, vm := range st.VMs {
		fmt.Fprintf(&b, " [%s %s %s %s]", vm.Name, vm.MoRef, vm.Phase, vm.Revision)
	}
	for _, c := range st.Conditions {
		fmt.Fprintf(&b, "\n      %s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}
