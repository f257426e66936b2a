package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// classify assigns every recorded VM, every clone in flight and every observed VM to an ordinal. The record in status has priority. A recorded VM stays the group's if it is
// renamed or moved to another folder below the root. Any other VM with its stamp is a copy. The adoption pass decides about unrecorded VMs.
func (p *planner) classify() {
	p.members, p.unclaimed = map[int32]*member{}, map[int32][]*vsphere.VM{}
	p.taken, p.doomed, p.adopting = map[int32]*vsphere.VM{}, map[int32]bool{}, map[string]*member{}
	for _, ordinal := range p.in.Doomed {
		p.doomed[ordinal] = true
	}
	known := recorded(p.in.Known)
	candidates := p.toAdopt()
	owned, released := p.recognize(known, candidates)
	gone, away := setOf(p.in.Observation.Gone), setOf(p.in.Observation.Elsewhere)
	for _, k := range known {
		switch c := candidates[k.MoRef]; {
		case c != nil:
			p.members[k.Ordinal] = p.enter(c, k.Ordinal)
		case !released[k.Ordinal]:
			if k.MoRef == "" && away[k.Replaces.MoRef] && !p.ops.cloning(k.Ordinal) && !p.uuidTaken(k.UUID) {
				k = k.lost() // the VM came back before its successor existed
			}
			p.place(k, owned[k.Ordinal], gone[k.MoRef] && p.in.Observation.Complete, away[k.MoRef])
		}
	}
	for _, ordinal := range p.ops.ordinals() {
		if p.members[ordinal] == nil && p.ops.cloning(ordinal) {
			// The intent is not recorded, or not read yet. Its incarnation is unknown, so the planner claims no UUID: the stamp of the VM has it.
			p.add(cloning, nil, nil, VMStatus{Ordinal: ordinal, Revision: p.in.Revision})
		}
	}
	p.ordinals = make([]int32, 0, len(p.members))
	for ordinal := range p.members {
		p.ordinals = append(p.ordinals, ordinal)
	}
	slices.Sort(p.ordinals)
}

// recognize returns the recorded VMs among the observed ones, by ordinal. It also returns the ordinals whose record names no VM of the group. Unrecorded VMs are set aside.
func (p *planner) recognize(known []*Known, candidates map[string]*Candidate) (owned map[int32]*vsphere.VM, released map[int32]bool) {
	recordOf := make(map[string]*Known, len(known))
	for _, k := range known {
		if k.MoRef != "" {
			recordOf[k.MoRef] = k
		}
	}
	owned, released = make(map[int32]*vsphere.VM, len(known)), map[int32]bool{}
	for _, vm := range observed(p.in.Observation.VMs, p.in.ID) {
		k := recordOf[vm.Ref.Value]
		switch {
		case candidates[vm.Ref.Value] != nil:
			if ordinal, ok := p.nameTaken(vm); ok && p.taken[ordinal] == nil {
				p.taken[ordinal] = vm
			}
		case k != nil && vm.Stamp != nil:
			owned[k.Ordinal] = vm
		case k != nil && !p.in.Observation.Complete:
			// The VM's stamp can be unread yet: the VM stays recorded.
		case vm.Stamp != nil:
			p.unclaimed[vm.Stamp.Ordinal] = append(p.unclaimed[vm.Stamp.Ordinal], vm)
		default:
			if k != nil {
				released[k.Ordinal] = true // the stamp was removed, or a person wrote the record by hand
			}
			if p.inFolder(vm) {
				p.foreign(vm)
			}
		}
	}
	if p.in.Observation.Complete {
		for _, ref := range p.in.Observation.Others {
			if k := recordOf[ref.Value]; k != nil {
				released[k.Ordinal] = true
			}
		}
	}
	return owned, released
}

// toAdopt returns the VMs that can be adopted, by managed object reference.
func (p *planner) toAdopt() map[string]*Candidate {
	candidates := map[string]*Candidate{}
	if p.in.Adoption != nil {
		for i := range p.in.Adoption.Candidates {
			c := &p.in.Adoption.Candidates[i]
			candidates[c.VM.Ref.Value] = c
		}
	}
	return candidates
}

// lost returns the record of the VM that the intended clone replaces.
func (k *Known) lost() *Known {
	return &Known{Ordinal: k.Ordinal, Incarnation: max(k.Incarnation-1, 0), MoRef: k.Replaces.MoRef, UUID: k.Replaces.UUID, Revision: k.Revision}
}

// place makes the member of a recorded VM.
func (p *planner) place(k *Known, vm *vsphere.VM, isGone, isElsewhere bool) {
	status := VMStatus{
		Ordinal: k.Ordinal, Incarnation: k.Incarnation, MoRef: k.MoRef, UUID: k.UUID, Revision: k.Revision,
		RootDiskGiB: k.RootDiskGiB, DataDisks: k.DataDisks, ReadySince: k.ReadySince, StartTime: k.StartTime, Updating: k.Updating, StoppedAt: k.StoppedAt, RefusedAt: k.RefusedAt,
	}
	if k.MoRef == "" {
		status.Replaces = k.Replaces
	}
	if status.StoppedAt.After(p.in.Now) { // no refusal would count before that time
		status.StoppedAt = time.Time{}
	}
	switch {
	case vm != nil:
		p.add(present, k, vm, status)
	case k.MoRef == "" && p.ops.cloning(k.Ordinal):
		p.add(cloning, k, nil, status)
	case k.MoRef == "":
		p.add(intended, k, nil, status)
	case isElsewhere:
		p.add(elsewhere, k, nil, status)
	case isGone && p.ops.cloning(k.Ordinal):
		p.add(cloning, k, nil, VMStatus{
			Ordinal: k.Ordinal, Incarnation: k.Incarnation + 1, Revision: p.in.Revision, Replaces: Lost{MoRef: k.MoRef, UUID: k.UUID},
		})
	case isGone:
		p.add(gone, k, nil, status)
	default:
		p.add(suspect, k, nil, status)
	}
}

// add puts a member into the table, with the observed state of its VM.
func (p *planner) add(s state, k *Known, vm *vsphere.VM, status VMStatus) {
	status.Name = VMName(p.in.Name, status.Ordinal)
	m := &member{state: s, known: k, vm: vm, status: status, doomed: p.doomed[status.Ordinal]}
	if status.Updating && vm != nil && vm.Power == vsphere.PoweredOff {
		m.status.ReadySince = time.Time{} // the operator stopped it for an update, so this is no change from outside
	}
	if vm != nil && vm.Power == vsphere.PoweredOff && p.wasAsked(m) {
		m.status.ReadySince = time.Time{} // its guest was asked to shut down when spec wanted the VM off
	}
	m.wasReady = s == present && !m.status.ReadySince.IsZero()
	if vm != nil {
		if vm.InstanceUUID != "" {
			m.status.UUID = vm.InstanceUUID // vCenter can have assigned another
		}
		if k != nil && vm.Power == vsphere.PoweredOn {
			m.status.ShutdownTime = p.ops.guests.asked[vm.Ref.Value]
		}
		m.status.MoRef, m.status.Power, m.status.IPAddress = vm.Ref.Value, vm.Power, vm.GuestIP
		m.status.Revision, m.status.CloneMode = vm.Stamp.Revision, v1alpha1.CloneMode(vm.Stamp.CloneMode)
		m.status.RootDiskGiB = vm.RootDiskGiB
		if disks, known := DataDisksOf(vm); known {
			m.status.DataDisks = disks
		}
		if m.startsAnew() || status.StartTime.After(p.in.Now) { // a clock ran ahead; the VM must not wait for it
			m.status.StartTime = time.Time{}
		}
		if vm.Tombstone || p.ops.leaving(status.Ordinal) {
			m.doomed, p.doomed[status.Ordinal] = true, true
		}
	}
	p.members[status.Ordinal] = m
}

// foreignBack records a VM of the group that came back after it was replaced.
func (p *planner) foreignBack(vm *vsphere.VM) {
	p.foreign(vm)
	f := &p.plan.Foreign[len(p.plan.Foreign)-1]
	f.Copy, f.Back = false, true
}

// foreign records a VM that gets no action.
func (p *planner) foreign(vm *vsphere.VM) {
	f := Foreign{MoRef: vm.Ref.Value, Name: vm.Name}
	if vm.Stamp != nil {
		f.Copy, f.Ordinal = true, vm.Stamp.Ordinal
	}
	if ordinal, ok := p.nameTaken(vm); ok {
		f.TakesName, f.Released = true, vm.Stamp == nil && p.wasOurs(vm, ordinal)
		if p.taken[ordinal] == nil {
			p.taken[ordinal] = vm
		}
	}
	p.plan.Foreign = append(p.plan.Foreign, f)
}

// nameTaken returns the ordinal whose name vm has in the group's folder.
func (p *planner) nameTaken(vm *vsphere.VM) (int32, bool) {
	if !p.inFolder(vm) {
		return 0, false
	}
	return ordinalOf(p.in.Name, vm.Name)
}

// explainNames reports the ordinals that are skipped because their name is taken. It reports only ordinals below the highest one in use: others block nothing.
func (p *planner) explainNames() {
	if p.in.Deleting {
		return
	}
	highest := int32(-1)
	for _, m := range p.table() {
		if !m.doomed {
			highest = max(highest, m.status.Ordinal)
		}
	}
	for _, ordinal := range p.contested() {
		if ordinal >= highest || p.member(ordinal) != nil {
			continue
		}
		if vm := p.taken[ordinal]; vm != nil {
			if vm.Stamp == nil && p.wasOurs(vm, ordinal) {
				continue // a person asked to keep the VM
			}
			if slices.ContainsFunc(p.plan.Foreign, func(f Foreign) bool { return f.Back && f.MoRef == vm.Ref.Value }) {
				continue // the report of the returned VM already has the remedy
			}
			p.blockers.add(rankName, Blocker{
				Reason: v1alpha1.ReasonNameConflict, Remark: true,
				Brief: fmt.Sprintf("%s: the name is taken by %s, which is not the group's VM", VMName(p.in.Name, ordinal), vm.Ref.Value),
				Message: fmt.Sprintf("The name %s in the group's folder is taken by %s, which is not the group's VM of "+
					"that name; another ordinal is used instead. To free the name, rename or move %s.",
					VMName(p.in.Name, ordinal), vm.Ref.Value, vm.Ref.Value),
			})
		} else if f := p.nameHeld(ordinal); f != nil {
			p.blockers.addRemark(f)
		}
	}
}

// nameHeld returns the failure that reports the name of an ordinal as taken, and schedules a run for the next attempt.
func (p *planner) nameHeld(ordinal int32) *failure {
	f := p.ops.nameHeld(ordinal)
	if f != nil {
		p.wake(f.RetryAt)
	}
	return f
}

// contested returns the ordinals whose name can be taken, sorted.
func (p *planner) contested() []int32 {
	ordinals := make([]int32, 0, len(p.taken)+len(p.ops.failures))
	for ordinal := range p.taken {
		ordinals = append(ordinals, ordinal)
	}
	for ordinal := range p.ops.failures {
		ordinals = append(ordinals, ordinal)
	}
	slices.Sort(ordinals)
	return slices.Compact(ordinals)
}

// recorded returns the records in status, at most one per ordinal and per managed object reference, by ordinal.
func recorded(in []Known) []*Known {
	all := make([]*Known, 0, len(in))
	for i := range in {
		if in[i].Ordinal >= 0 {
			all = append(all, &in[i])
		}
	}
	slices.SortFunc(all, func(a, b *Known) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(b.Incarnation, a.Incarnation),
			strings.Compare(b.MoRef, a.MoRef), strings.Compare(b.UUID, a.UUID), b.ReadySince.Compare(a.ReadySince),
			b.StartTime.Compare(a.StartTime), compareBools(a.Updating, b.Updating), strings.Compare(a.Revision, b.Revision), strings.Compare(string(a.Phase), string(b.Phase)))
	})
	ordinals, moRefs := make(map[int32]bool, len(all)), make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(k *Known) bool {
		if ordinals[k.Ordinal] || (k.MoRef != "" && moRefs[k.MoRef]) {
			return true
		}
		ordinals[k.Ordinal], moRefs[k.MoRef] = true, true
		return false
	})
}

// compareBools puts true first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// observed returns the observed VMs by managed object reference. Each VM has the group's stamp, from any installation, or nil. The function does not change in.
func observed(in []vsphere.VM, id vsphere.GroupID) []*vsphere.VM {
	all := make([]*vsphere.VM, 0, len(in))
	for i := range in {
		vm := &in[i]
		if vm.Stamp != nil && !vm.Stamp.SameGroup(id) {
			vm = new(*vm)
			vm.Stamp = nil
		}
		all = append(all, vm)
	}
	slices.SortFunc(all, func(a, b *vsphere.VM) int { return strings.Compare(a.Ref.Value, b.Ref.Value) })
	return slices.CompactFunc(all, func(a, b *vsphere.VM) bool { return a.Ref.Value == b.Ref.Value })
}

// inFolder is true for a VM that lies directly in the group's folder.
func (p *planner) inFolder(vm *vsphere.VM) bool {
	return !p.in.Folder.IsZero() && vm.Folder == p.in.Folder
}

// setOf has the values of managed object references.
func setOf(refs []vsphere.Ref) map[string]bool {
	set := make(map[string]bool, len(refs))
	for _, ref := range refs {
		set[ref.Value] = true
	}
	return set
}
