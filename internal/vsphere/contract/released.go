package contract

import (
	"context"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func released(r *run) {
	vm, stays := r.cloneLarger(0), r.clone(1)
	r.ok(r.Server.PowerOn(r.ctx, target(vm)))
	vm = r.vm("powered on", 0, func(vm vsphere.VM) bool { return vm.Power == vsphere.PoweredOn })
	nowhere := target(vm)
	nowhere.Namespace = ""
	r.refused(r.Server.Release(r.ctx, nowhere), vsphere.KindSpec)

	let := target(vm)
	r.ok(r.Server.Release(r.ctx, let))
	got := r.settled("released", vm.Ref, func(o vsphere.Observation) bool { return len(o.Released) > 0 }).Released[0]
	mark := vsphere.ReleaseMark{GroupID: id, Namespace: path.Namespace, Revision: vm.Stamp.Revision}
	if got.Stamp != nil || got.Tombstone || got.Released == nil || *got.Released != mark {
		r.t.Errorf("it carries stamp %+v and mark %+v, want mark %+v alone", got.Stamp, got.Released, mark)
	}
	if got.Ref != vm.Ref || got.Name != vm.Name || got.Folder != vm.Folder || !sameMachine(got, vm) {
		r.t.Errorf("it was %+v and is %+v", vm, got)
	}
	r.ok(r.Server.Release(r.ctx, let))
	if o := r.observe(vm.Ref); len(o.InFlight)+len(o.Failures) > 0 {
		r.t.Errorf("a second release left %+v %+v", o.InFlight, o.Failures)
	}
	member, ordinal := let, let
	member.ID.Member, ordinal.Ordinal = "member-2", 5
	for _, other := range []vsphere.Target{member, ordinal} {
		r.refused(r.Server.Release(r.ctx, other), vsphere.KindForeign)
	}
	for _, do := range []func(context.Context, vsphere.Target) error{
		r.Server.PowerOn, r.Server.PowerOff, r.Server.ShutdownGuest, r.Server.Mark, r.Server.Destroy,
	} {
		r.refused(do(r.ctx, let), vsphere.KindForeign)
	}
	r.observedWithoutAFolder(stays, got)

	r.Person.CopyVM(r.folder, got, "by-hand")
	both := r.settled("the copy is observed", vm.Ref, func(o vsphere.Observation) bool { return len(o.Released) == 2 }).Released
	if !slices.IsSortedFunc(both, func(a, b vsphere.VM) int { return strings.Compare(a.Ref.Value, b.Ref.Value) }) || *both[0].Released != mark || *both[1].Released != mark {
		r.t.Errorf("with the copy, %+v were released", both)
	}
	r.Person.MoveOut(r.folder, got)
	r.until("the one that left is not listed any more", func() bool {
		o := r.observe()
		return o.Complete && len(o.Released) == 1 && o.Released[0].Ref != vm.Ref
	})
}

// sameMachine reports whether two observations of a VM show the same UUID, power state and size.
func sameMachine(a, b vsphere.VM) bool {
	return a.InstanceUUID == b.InstanceUUID && a.Power == b.Power && a.CPU == b.CPU && a.MemoryMiB == b.MemoryMiB && a.RootDiskGiB == b.RootDiskGiB
}

// observedWithoutAFolder observes groups by their ID alone: by the stamp of one VM, and the release mark of another.
func (r *run) observedWithoutAFolder(stamped, let vsphere.VM) {
	r.t.Helper()
	observed := func(id vsphere.GroupID) vsphere.Observation { return r.Server.Observe(vsphere.Query{ID: id}) }
	same := id
	same.Installation = "inst-2"
	for _, whichever := range []vsphere.GroupID{id, same} {
		o := observed(whichever)
		if !o.Complete || len(o.VMs) != 1 || o.VMs[0].Ref != stamped.Ref || len(o.Released) != 1 || o.Released[0].Ref != let.Ref {
			r.t.Errorf("%+v is observed as %+v", whichever, o)
		}
		if o.Folder != (vsphere.Folder{}) || o.FolderGone || o.FolderElsewhere || len(o.Gone)+len(o.Unread)+len(o.Elsewhere)+len(o.Others) > 0 {
			r.t.Errorf("of %+v the answer has more than was asked for: %+v", whichever, o)
		}
	}
	for _, other := range []vsphere.GroupID{
		{Installation: id.Installation, Member: "member-2", Group: id.Group}, {Installation: id.Installation, Member: id.Member, Group: "group-2"},
	} {
		if o := observed(other); !o.Complete || len(o.VMs)+len(o.Released) > 0 {
			r.t.Errorf("%+v is observed as %+v", other, o)
		}
	}
}

func markedByHand(r *run) {
	vm := r.clone(0)
	mark := vsphere.ReleaseMark{
		GroupID: vsphere.GroupID{Installation: "inst-9", Member: id.Member, Group: id.Group}, Namespace: "another", Ordinal: 7, Revision: "by;hand",
	}
	r.Person.SetReleaseMark(r.folder, vm, &mark)
	both := r.vm("the mark is written", 0, func(now vsphere.VM) bool { return now.ChangeVersion != vm.ChangeVersion })
	if o := r.observe(); both.Released != nil || len(o.Released) > 0 {
		r.t.Errorf("beside its stamp the VM carries %+v, and released are %+v", both.Released, o.Released)
	}
	r.Person.Unstamp(r.folder, vm)
	let := r.settled("without a stamp the mark counts", vm.Ref, func(o vsphere.Observation) bool { return len(o.Released) == 1 }).Released[0]
	if let.Ref != vm.Ref || *let.Released != mark {
		r.t.Errorf("%+v was released with %+v, want %+v", let, let.Released, mark)
	}
	r.Person.SetReleaseMark(r.folder, vm, nil)
	o := r.settled("without a mark it does not", vm.Ref, func(o vsphere.Observation) bool { return len(o.Released) == 0 })
	if len(o.VMs) != 1 || o.VMs[0].Stamp != nil || o.VMs[0].Released != nil {
		r.t.Errorf("in the end observed %+v", o.VMs)
	}
}

func markedTemplate(r *run) {
	r.Template = "released-template"
	r.Person.AddTemplate(r.Template, vsphere.ReleaseMark{GroupID: id, Namespace: path.Namespace, Ordinal: 3, Revision: "r"})
	r.until("the template is found", func() bool { _, err := r.Server.Template(r.Template); return err == nil })
	vm := r.clone(0)
	r.Person.Unstamp(r.folder, vm) // a stamp would hide the mark
	o := r.settled("without a stamp", vm.Ref, func(o vsphere.Observation) bool { return len(o.VMs) == 1 && o.VMs[0].Stamp == nil })
	if o.VMs[0].Released != nil || len(o.Released) > 0 {
		r.t.Errorf("the clone carries its template's mark %+v", o.VMs[0].Released)
	}
}
