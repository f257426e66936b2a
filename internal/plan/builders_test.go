package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	groupName = "web"
	groupUID  = "0b9cf3f2-6a0b-4f0e-9f2b-0f2f9f2d9a11"
)

// epoch is the time of every test, and revision the revision of validSpec.
var (
	epoch    = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	revision = Revision(validSpec(0))
)

var (
	groupID = vsphere.GroupID{Installation: "hub", Member: "team-a", Group: groupUID}
	folder  = vsphere.FolderRef("group-v7")
	away    = vsphere.FolderRef("group-v8")
)

func ptr[T any](v T) *T { return &v }

func validSpec(replicas int32) v1alpha1.VmGroupSpec {
	return v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "debian-12", Replicas: &replicas}
}

// option edits an Input.
type option func(*Input)

// input is a group that wants replicas VMs, with a complete observation.
func input(replicas int32, options ...option) Input {
	in := Input{
		Now: epoch, Name: groupName, ID: groupID, Folder: folder, Spec: validSpec(replicas), Revision: revision, UpdateRevision: revision,
		Surge: muchRoom, Observation: vsphere.Observation{Complete: true},
	}
	for _, o := range options {
		o(&in)
	}
	return in
}

// listedAs is the status record of a name in spec.scaleDown.deleteFirst.
func listedAs(name, moRef string) option {
	return func(in *Input) { in.Listed = append(in.Listed, Listed{Name: name, MoRef: moRef}) }
}

func moRefOf(ordinal int32) string { return fmt.Sprintf("vm-%d", 100+ordinal) }

// makeVM is a healthy VM of the group.
func makeVM(ordinal int32, edits ...func(*vsphere.VM)) vsphere.VM {
	vm := vsphere.VM{
		Ref: vsphere.VMRef(moRefOf(ordinal)), Name: VMName(groupName, ordinal), InstanceUUID: InstanceUUID(groupID.Key(), ordinal, 0),
		Folder: folder, Power: vsphere.PoweredOn, Connection: vsphere.Connected, ChangeVersion: "v1",
		Stamp: &vsphere.Stamp{
			GroupID: groupID, Ordinal: ordinal, Revision: revision, CloneMode: string(v1alpha1.CloneFull),
			Created: epoch.Add(time.Duration(ordinal-1000) * time.Minute),
		},
	}
	for _, e := range edits {
		e(&vm)
	}
	return vm
}

func power(p vsphere.PowerState) func(*vsphere.VM) { return func(vm *vsphere.VM) { vm.Power = p } }
func called(name string) func(*vsphere.VM)         { return func(vm *vsphere.VM) { vm.Name = name } }
func ref(moRef string) func(*vsphere.VM) {
	return func(vm *vsphere.VM) { vm.Ref = vsphere.VMRef(moRef) }
}
func marked(vm *vsphere.VM)    { vm.Tombstone = true }
func unstamped(vm *vsphere.VM) { vm.Stamp = nil }
func strange(vm *vsphere.VM) { // of another owner
	vm.Stamp, vm.InstanceUUID = nil, "52d6d2c5-9b5b-4b9d-a3c5-7d1f0d9c1a77"
}
func outside(vm *vsphere.VM)      { vm.Folder = away }
func disconnected(vm *vsphere.VM) { vm.Connection = vsphere.Disconnected }
func tools(vm *vsphere.VM)        { vm.ToolsRunning = true }
func outdated(vm *vsphere.VM)     { s := *vm.Stamp; s.Revision = "1-old"; vm.Stamp = &s }
func created(at time.Duration) func(*vsphere.VM) {
	return func(vm *vsphere.VM) { vm.Stamp.Created = epoch.Add(at) }
}
func incarnation(ordinal, n int32) func(*vsphere.VM) {
	return func(vm *vsphere.VM) {
		vm.Stamp.Incarnation, vm.InstanceUUID = n, InstanceUUID(groupID.Key(), ordinal, n)
	}
}

// makeKnown is the record of a VM that has been ready for an hour.
func makeKnown(ordinal int32) Known {
	return Known{
		Ordinal: ordinal, MoRef: moRefOf(ordinal), UUID: InstanceUUID(groupID.Key(), ordinal, 0), Revision: revision,
		ReadySince: epoch.Add(-time.Hour), Phase: v1alpha1.VMReady,
	}
}

// intent is the record of a clone whose VM was not seen.
func intent(ordinal, incarnation int32) Known {
	return Known{
		Ordinal: ordinal, Incarnation: incarnation, UUID: InstanceUUID(groupID.Key(), ordinal, incarnation),
		Revision: revision, Phase: v1alpha1.VMCloning,
	}
}

// sees adds VMs to the observation only.
func sees(vms ...vsphere.VM) option {
	return func(in *Input) { in.Observation.VMs = append(in.Observation.VMs, vms...) }
}

// has adds VMs that are recorded and observed.
func has(vms ...vsphere.VM) option {
	return func(in *Input) {
		for _, vm := range vms {
			k := makeKnown(vm.Stamp.Ordinal)
			k.MoRef, k.UUID, k.Revision, k.Incarnation = vm.Ref.Value, vm.InstanceUUID, vm.Stamp.Revision, vm.Stamp.Incarnation
			in.Known = append(in.Known, k)
		}
		sees(vms...)(in)
	}
}

// healthy adds VMs that are recorded and observed, by ordinal.
func healthy(ordinals ...int32) option {
	return func(in *Input) {
		for _, o := range ordinals {
			has(makeVM(o))(in)
		}
	}
}

func knows(ks ...Known) option { return func(in *Input) { in.Known = append(in.Known, ks...) } }

func knowsOrdinals(ordinals ...int32) option {
	return func(in *Input) {
		for _, o := range ordinals {
			knows(makeKnown(o))(in)
		}
	}
}

// goneVMs returns an option: status lists these VMs, and vCenter has confirmed their deletion.
func goneVMs(ordinals ...int32) option {
	return func(in *Input) {
		knowsOrdinals(ordinals...)(in)
		for _, o := range ordinals {
			in.Observation.Gone = append(in.Observation.Gone, vsphere.VMRef(moRefOf(o)))
		}
	}
}

func goneRefs(moRefs ...string) option {
	return func(in *Input) {
		for _, moRef := range moRefs {
			in.Observation.Gone = append(in.Observation.Gone, vsphere.VMRef(moRef))
		}
	}
}

// awayVMs are recorded, and exist outside the operator's root folder.
func awayVMs(ordinals ...int32) option {
	return func(in *Input) {
		knowsOrdinals(ordinals...)(in)
		for _, o := range ordinals {
			in.Observation.Elsewhere = append(in.Observation.Elsewhere, vsphere.VMRef(moRefOf(o)))
		}
	}
}

func doomed(ordinals ...int32) option {
	return func(in *Input) { in.Doomed = append(in.Doomed, ordinals...) }
}

func running(kind vsphere.OperationKind, ordinal int32, age time.Duration) option {
	return func(in *Input) {
		op := vsphere.Operation{Kind: kind, Ordinal: ordinal, Since: in.Now.Add(-age)}
		if kind != vsphere.OpClone {
			op.VM = vsphere.VMRef(moRefOf(ordinal))
		}
		in.Observation.InFlight = append(in.Observation.InFlight, op)
	}
}

// said is a vCenter error with its own message.
type said struct {
	kind vsphere.Kind
	text string
}

func (s said) Error() string { return s.text }
func (s said) Unwrap() error { return &vsphere.Error{Kind: s.kind} }

func failed(f vsphere.Failure) option {
	return func(in *Input) { in.Observation.Failures = append(in.Observation.Failures, f) }
}

func spec(edit func(*v1alpha1.VmGroupSpec)) option { return func(in *Input) { edit(&in.Spec) } }

func observeOnly(s *v1alpha1.VmGroupSpec) { s.Repair = &v1alpha1.Repair{Mode: v1alpha1.RepairObserve} }
func wantOff(s *v1alpha1.VmGroupSpec)     { s.PowerState = v1alpha1.PoweredOff }
func retain(s *v1alpha1.VmGroupSpec)      { s.DeletionPolicy = v1alpha1.DeletionRetain }

func maxUnhealthy(n int32) func(*v1alpha1.VmGroupSpec) { return maxUnhealthyIs(intstr.FromInt32(n)) }

func maxUnhealthyIs(n intstr.IntOrString) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.Repair = &v1alpha1.Repair{MaxUnhealthy: &n} }
}

func gate(g v1alpha1.ReadinessGate, minReady int32) func(*v1alpha1.VmGroupSpec) {
	return func(s *v1alpha1.VmGroupSpec) { s.Readiness = &v1alpha1.Readiness{Gate: g, MinReadySeconds: minReady} }
}

func deleting(in *Input)   { in.Deleting = true }
func incomplete(in *Input) { in.Observation.Complete = false }
func paused(in *Input) {
	in.Paused = &Blocker{Reason: v1alpha1.ReasonPaused, Message: "spec.paused is true."}
}

func createBlocked(in *Input) {
	in.CreateBlocked = &Blocker{
		Reason: v1alpha1.ReasonTemplateNotFound, Message: "There is no template debian-12.", Terminal: true,
	}
}

// want is the expected plan; every field is compared.
type want struct {
	// actions as "Kind name", blockers as "Reason" with "!" when terminal.
	actions, blockers string
	// vms as "ordinal:Phase".
	vms                      string
	doomed                   string
	existing, ready, updated int32
	repairing, settled, gone bool
	wakeIn                   time.Duration
}

func actionsOf(p Plan) string {
	out := make([]string, 0, len(p.Actions))
	for _, a := range p.Actions {
		out = append(out, fmt.Sprintf("%s %s", a.Kind, a.Name))
	}
	return strings.Join(out, ", ")
}

func blockersOf(p Plan) string {
	out := make([]string, 0, len(p.Blockers))
	for _, b := range p.Blockers {
		mark := ""
		if b.Terminal {
			mark = "!"
		}
		out = append(out, b.Reason+mark)
	}
	return strings.Join(out, ", ")
}

func vmsOf(p Plan) string {
	out := make([]string, 0, len(p.VMs))
	for _, s := range p.VMs {
		out = append(out, fmt.Sprintf("%d:%s", s.Ordinal, s.Phase))
	}
	return strings.Join(out, " ")
}

func doomedOf(p Plan) string { return strings.Trim(fmt.Sprint(p.Doomed), "[]") }

func summary(p Plan) want {
	w := want{
		actions: actionsOf(p), blockers: blockersOf(p), vms: vmsOf(p), doomed: doomedOf(p),
		existing: p.Existing, ready: p.Ready, updated: p.Updated,
		repairing: p.Repairing, settled: p.Settled, gone: p.Gone,
	}
	if !p.WakeAt.IsZero() {
		w.wakeIn = p.WakeAt.Sub(epoch)
	}
	return w
}

// check computes the plan of in and compares it with w in every field of want.
func check(t *testing.T, in Input, w want) Plan {
	t.Helper()
	p := Compute(in)
	if diff := cmp.Diff(w, summary(p), cmp.AllowUnexported(want{})); diff != "" {
		t.Errorf("plan differs (-want +got):\n%s", diff)
	}
	return p
}

// rule is one case of a table.
type rule struct {
	name string
	in   Input
	want want
	// says are parts of the messages of blockers and VMs.
	says []string
}

func runRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			p := check(t, r.in, r.want)
			var text strings.Builder
			for _, b := range p.Blockers {
				text.WriteString(b.Message + "\n")
			}
			for _, s := range p.VMs {
				text.WriteString(s.Message + "\n")
			}
			for _, a := range p.Actions {
				text.WriteString(a.Reason + "\n")
			}
			for _, part := range r.says {
				if !strings.Contains(text.String(), part) {
					t.Errorf("nothing says %q; said was:\n%s", part, text.String())
				}
			}
		})
	}
}

func vmStatus(t *testing.T, p Plan, ordinal int32) VMStatus {
	t.Helper()
	for _, s := range p.VMs {
		if s.Ordinal == ordinal {
			return s
		}
	}
	t.Fatalf("there is no VM %d in %s", ordinal, vmsOf(p))
	return VMStatus{}
}
