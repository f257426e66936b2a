package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Violation is a broken rule in a run.
type Violation struct {
	// Rule is its name. A shrunk history breaks the same rule.
	Rule string
	// At is the time since the beginning. What describes the violation.
	At   time.Duration
	What string
}

func (v *Violation) String() string {
	return fmt.Sprintf("%s after %s: %s", v.Rule, v.At, v.What)
}

// audit checks the rules.
type audit struct {
	violation *Violation
	// edit is true while an edit of the VMs' shape can be in progress.
	edit bool
	// quiet is the time from which no action is allowed any more, or zero.
	quiet time.Time
	// clones counts the requested VMs. edits counts the edits of spec.
	clones, edits int
}

func (a *audit) failed() bool { return a.violation != nil }

// violated records the first violation.
func (a *audit) violated(w *world, rule, format string, args ...any) {
	if a.violation == nil {
		a.violation = &Violation{Rule: rule, At: w.now.Sub(epoch), What: fmt.Sprintf(format, args...)}
		w.say("VIOLATION %s", a.violation)
	}
}

// edited records an edit of spec.
func (a *audit) edited(_ *world, was, is *v1alpha1.VmGroup) {
	a.edits++
	a.edit = a.edit || plan.Revision(was.Spec) != plan.Revision(is.Spec)
}

// restored records a restored record or status: its usage was granted at its time. VMs that exist count, because a restored status can know a VM that another had replaced.
func (a *audit) restored(w *world) {
	l := &w.ledger
	l.restored = true
	vms, cpus := w.vc.charged()
	usage := l.granted.Max(l.entry).Max(policy.Usage{VMs: vms, CPU: cpus})
	if r := w.hub.record; r != nil {
		usage.VMs, usage.CPU = max(usage.VMs, int64(r.Replicas)), max(usage.CPU, int64(r.Replicas)*int64(r.CPU))
	}
	l.granted = usage
}

// beforeActions checks actions right before their submission to vCenter.
func (a *audit) beforeActions(w *world, s *group.Snapshot, d group.Decision, actions []plan.Action) {
	if len(actions) == 0 {
		return
	}
	first := fmt.Sprintf("%s %s", actions[0].Kind, actions[0].Name)
	switch g := w.api.group; {
	case s.Paused != nil:
		a.violated(w, "acts-while-paused", "%s", first)
	case w.vc.away:
		a.violated(w, "acts-while-away", "%s", first)
	case w.vc.partial || w.vc.inherits():
		a.violated(w, "acts-while-blind", "%s", first)
	case !a.quiet.IsZero() && slices.ContainsFunc(actions, func(action plan.Action) bool { return !w.retries(&action) }):
		a.violated(w, "acts-at-rest", "%s, because %s", first, actions[0].Reason)
	case w.api.deleting() && w.hub.crdGoing && !v1alpha1.DeletionConfirmed(g) && !v1alpha1.ReleaseAsked(g) && !w.now.Before(w.hub.massUntil):
		a.violated(w, "acts-while-crd-goes", "%s", first)
	}
	a.removals(w, actions)
	f := newFloor(w, int(d.Plan.Desired))
	for i := range actions {
		a.action(w, s, &actions[i], f)
	}
}

// retries reports whether an action is retried every few minutes until a user has acted.
func (w *world) retries(action *plan.Action) bool {
	m := w.vc.vm(action.MoRef)
	return action.Kind == plan.DestroyVM && m != nil && m.disk || action.Kind == plan.ReconfigureVM && (action.Quiet || m != nil && m.snapshot)
}

// removals checks that a mass deletion is held.
func (a *audit) removals(w *world, actions []plan.Action) {
	g := w.api.group
	guarded := w.setup.Old && g.DeletionTimestamp != nil && g.Spec.DeletionPolicy != v1alpha1.DeletionRetain && g.Annotations[v1alpha1.ReleaseAnnotation] != groupUID &&
		g.Annotations[v1alpha1.ConfirmDeletionAnnotation] != groupUID && !w.now.Before(w.hub.massUntil)
	if !guarded {
		return
	}
	for _, action := range actions {
		if action.Kind != plan.MarkVM && action.Kind != plan.DestroyVM {
			continue
		}
		if w.hub.trips {
			a.violated(w, "mass-deletion", "%s %s while many others go", action.Kind, action.Name)
		} else if since := w.removingSince(g); w.now.Before(since.Add(10 * time.Second)) {
			a.violated(w, "deletion-waits", "%s %s within 10 s of the deletion", action.Kind, action.Name)
		}
	}
}

// removingSince returns since when all VMs must be removed: since the deletion, or since the group was scaled to 0.
func (w *world) removingSince(g *v1alpha1.VmGroup) time.Time {
	if c := condition(&g.Status, v1alpha1.ConditionRemoving); c != nil && c.LastTransitionTime.Time.Before(g.DeletionTimestamp.Time) {
		return c.LastTransitionTime.Time
	}
	return g.DeletionTimestamp.Time
}

// action checks one action.
func (a *audit) action(w *world, s *group.Snapshot, action *plan.Action, f *floor) {
	m := w.vc.vm(action.MoRef)
	if m != nil && !m.owned() && !slices.Contains([]plan.ActionKind{plan.MoveVM, plan.RenameVM, plan.AdoptVM}, action.Kind) {
		a.violated(w, "foreign-vm", "%s %s (%s) is not the group's", action.Kind, m.name, m.ref)
	}
	switch action.Kind {
	case plan.CreateVM:
		a.clones++
		a.creates(w, s, action)
	case plan.DestroyVM:
		a.destroys(w, m, action)
	case plan.PowerOnVM:
		if m != nil && m.tombstone {
			a.violated(w, "revives", "%s has a tombstone", m.name)
		}
	case plan.PowerOffVM, plan.ShutdownGuest:
		if stays := m != nil && !m.tombstone && !slices.Contains(s.Group.Status.Deleting, action.Ordinal); stays {
			f.take(a, w, m, string(action.Kind), 0)
		}
	case plan.ReconfigureVM:
		a.changes(w, m, action, f)
	case plan.AdoptVM:
		a.adopts(w, m)
	case plan.MarkVM, plan.ReleaseVM, plan.RestampVM, plan.ClaimVM, plan.MoveVM, plan.RenameVM, plan.CancelClone:
	}
}

// destroys checks that no destroyed VM runs or is unmarked, and that none is replaced without an edit of the group.
func (a *audit) destroys(w *world, m *machine, action *plan.Action) {
	if m != nil && (!m.tombstone || m.power != vsphere.PoweredOff) {
		a.violated(w, "destroys", "%s has tombstone %v and is %s", m.name, m.tombstone, m.power)
	}
	if action.Removal == plan.RemovedByReplacement && !a.edit {
		a.violated(w, "update-without-edit", "%s is replaced, and the group was not edited: %s", action.Name, action.Reason)
	}
}

// adopts checks that a VM gets the group's stamp last.
func (a *audit) adopts(w *world, m *machine) {
	if home, exists := w.vc.at(groupLeaf()); m != nil && (!exists || m.folder != home.Ref.Value) {
		a.violated(w, "stamps-early", "%s is stamped before it is in the group's folder", m.name)
	}
}

// lets checks that a deleted group keeps its VMs only if an annotation has its UID or the policy is Retain.
func (a *audit) lets(w *world) {
	g := w.api.group
	asked := g.Annotations[v1alpha1.ReleaseAnnotation] == groupUID || g.Annotations[v1alpha1.ForgetAnnotation] == groupUID
	if !asked && g.Spec.DeletionPolicy != v1alpha1.DeletionRetain {
		a.violated(w, "keeps-unasked", "the group goes without its VMs; annotations %v", g.Annotations)
	}
}

// changes checks a change in place.
func (a *audit) changes(w *world, m *machine, action *plan.Action, f *floor) {
	if action.Identify { // it changes only the list in the VM's configuration
		return
	}
	if !a.edit {
		a.violated(w, "update-without-edit", "%s is changed without an edit of the group: %s", action.Name, action.Reason)
	}
	if m != nil && action.Network != nil {
		f.take(a, w, m, "rewiring", 1)
	}
}

// creates checks that an update does not exceed its limit of VMs.
func (a *audit) creates(w *world, s *group.Snapshot, action *plan.Action) {
	r, spec := s.Group.Status.Rollout, &w.api.group.Spec
	if r == nil || len(r.From) == 0 {
		return
	}
	total, _ := w.vc.charged()
	for _, m := range w.vc.vms {
		if m.mark != nil && m.stamp == nil && m.mark.Group == groupUID || m.owned() && returned(&w.api.group.Status, m) {
			total--
		}
	}
	updating := slices.ContainsFunc(w.vc.living(), func(m *machine) bool { return slices.Contains(r.From, m.stamp.Revision) })
	if most := replicas(spec) + surgeOf(spec); updating && action.Revision == r.Revision && int(total) >= most && s.Group.Status.DesiredReplicas == int32(replicas(spec)) {
		a.violated(w, "too-many", "%s is cloned while there are %d VMs, and %d may be", action.Name, total, most)
	}
}

// statusWritten checks each status, right after its write.
func (a *audit) statusWritten(w *world, was, is *v1alpha1.VmGroup) {
	if !a.quiet.IsZero() && !w.agedSince(a.quiet.Add(-restFor)) {
		a.violated(w, "writes-at-rest", "%s", difference(&was.Status, &is.Status))
	}
	w.forgetReleased()
	a.doomed(w, was, is)
	a.readySince(w, is)
	a.words(w, was, is)
	if c := condition(&is.Status, v1alpha1.ConditionUpToDate); c != nil && c.Status == "True" && (is.Status.Rollout == nil || len(is.Status.Rollout.From) == 0) && is.Status.ObservedGeneration == is.Generation {
		a.edit = false
	}
}

// readySince checks that no VM is ready since before the operator last saw it not ready.
func (a *audit) readySince(w *world, is *v1alpha1.VmGroup) {
	if w.blind() || is.Spec.PowerState == v1alpha1.PoweredOff {
		return
	}
	gate, _ := readinessOf(&is.Spec)
	for _, m := range w.vc.living() {
		if _, ready := m.readySince(w.now, gate); !ready {
			m.shownDown = w.now
			continue
		}
		for _, vm := range is.Status.VMs {
			if vm.MoRef == m.ref && vm.Phase == v1alpha1.VMReady && vm.ReadySince != nil && vm.ReadySince.Time.Before(m.shownDown.Truncate(time.Second)) {
				a.violated(w, "ready-since", "%s is ready since %s, and was seen not to be at %s", m.name, vm.ReadySince.UTC().Format(time.TimeOnly), m.shownDown.Format(time.TimeOnly))
			}
		}
	}
}

// doomed checks that no available VM is chosen for removal below the floor.
func (a *audit) doomed(w *world, was, is *v1alpha1.VmGroup) {
	if is.DeletionTimestamp != nil || is.Spec.PowerState == v1alpha1.PoweredOff {
		return
	}
	left := 0
	var leaves []string
	for _, m := range w.vc.living() {
		if (m.hidden || m.folder == elsewhere) && !slices.Contains(is.Status.Deleting, m.stamp.Ordinal) {
			left++ // it counts, and cannot be removed
		}
		if !m.available(w.now, &is.Spec) || m.folder == elsewhere {
			continue
		}
		sure := m.surelyAvailable(w.now, &is.Spec)
		switch goes := slices.Contains(is.Status.Deleting, m.stamp.Ordinal); {
		case !goes:
			left++
		case sure && !slices.Contains(was.Status.Deleting, m.stamp.Ordinal) && !w.vc.marking(m) && !listed(&is.Spec, m.name):
			leaves = append(leaves, m.name)
		}
	}
	desired := min(int(is.Status.DesiredReplicas), replicas(&is.Spec))
	if r := w.hub.record; r != nil {
		desired = min(desired, int(r.Replicas))
	}
	if least := desired - unavailableOf(&is.Spec); len(leaves) > 0 && left < least {
		a.violated(w, "floor", "%v are available and chosen to leave: %d are left, %d must be", leaves, left, least)
	}
}

func listed(spec *v1alpha1.VmGroupSpec, name string) bool {
	return spec.ScaleDown != nil && slices.Contains(spec.ScaleDown.DeleteFirst, name)
}

// afterPass checks the world after a pass.
func (a *audit) afterPass(w *world) {
	if w.ledger.limited() {
		vms, cpus := w.vc.charged()
		copies, theirs := w.copies()
		vms, cpus = vms-copies, cpus-theirs
		l := &w.ledger
		if l.limit.VMs > 0 && vms > l.granted.VMs {
			a.violated(w, "quota", "there are %d VMs, and %d were granted", vms, l.granted.VMs)
		}
		if l.limit.CPUs > 0 && cpus > l.granted.CPU {
			a.violated(w, "quota-cpu", "there are %d CPUs, and %d were granted", cpus, l.granted.CPU)
		}
	}
	seen := map[int32]string{}
	for _, m := range w.vc.living() {
		if g := w.api.group; g != nil && m.strayed && returned(&g.Status, m) {
			continue // the operator reports it, and leaves it to people
		}
		if other, twice := seen[m.stamp.Ordinal]; twice {
			a.violated(w, "twice", "%s and %s have one ordinal", other, m.ref)
		}
		seen[m.stamp.Ordinal] = m.ref
	}
}

// agedSince reports whether the group became an hour old since then, or an administrator's approval expired. From then on, removals of all of its VMs are
// recorded.
func (w *world) agedSince(then time.Time) bool {
	within := func(at time.Time) bool { return !at.Before(then) && !at.After(w.now) }
	return within(w.api.group.CreationTimestamp.Add(time.Hour)) || within(w.hub.massUntil)
}

// probe runs a pass without a cause, which must find nothing to do.
func (a *audit) probe(w *world) {
	if a.failed() || w.op.due || w.api.group == nil || w.agedSince(w.op.passed) || !w.op.wakeAt.IsZero() && !w.op.wakeAt.After(w.now) {
		return
	}
	op, book := w.op, w.ledger
	defer func() { w.op, w.ledger = op, book }()
	s := w.op.gather()
	for range 12 {
		d := group.Decide(s)
		switch d.Step {
		case group.AskQuota:
			s.Quota = w.ledger.ask(d.Quota)
		case group.ReadDefinition:
			s.Definition = w.definition()
		case group.ReadUserData:
			s.UserData = w.secrets(d.Secrets)
		case group.ClaimAdoption:
			w.op.claim(s)
		case group.RecordOwner: // the first write of a process
			s.Written = true
		case group.Wait:
			return
		case group.WriteReceipt:
			if !w.hub.away { // otherwise it is retried every two seconds
				a.violated(w, "slept", "a pass that nothing asked for writes the receipt")
			}
			return
		case group.Report, group.Act:
			if d.Status != nil {
				a.violated(w, "another-status", "a pass that nothing asked for writes status: %s", difference(&w.api.group.Status, d.Status))
			} else if todo := w.op.limited(&d.Plan); len(todo) > 0 {
				a.violated(w, "slept", "a pass that nothing asked for does %s %s: %s", todo[0].Kind, todo[0].Name, todo[0].Reason)
			}
			return
		default:
			a.violated(w, "slept", "a pass that nothing asked for does %s", d.Step)
			return
		}
	}
}

// floor is the number of VMs that must stay available.
type floor struct{ available, least int }

func newFloor(w *world, desired int) *floor {
	f := &floor{least: desired - unavailableOf(&w.api.group.Spec)}
	for _, m := range w.vc.living() {
		if m.available(w.now, &w.api.group.Spec) && !slices.Contains(w.api.group.Status.Deleting, m.stamp.Ordinal) {
			f.available++
		}
	}
	return f
}

// take records that an action makes an available VM unavailable. Whatever spec says, atLeast VMs can be unavailable.
func (f *floor) take(a *audit, w *world, m *machine, what string, atLeast int) {
	spec := &w.api.group.Spec
	if w.api.deleting() || spec.PowerState == v1alpha1.PoweredOff || !m.surelyAvailable(w.now, spec) || m.asked {
		return
	}
	f.available--
	if f.available < min(f.least, f.least+unavailableOf(spec)-atLeast) {
		a.violated(w, "floor", "%s of %s, which is available: %d are left, %d must be", what, m.name, f.available, f.least)
	}
}

// surgeOf returns how many additional VMs an update can have. A percentage is rounded up.
func surgeOf(spec *v1alpha1.VmGroupSpec) int {
	if u := spec.UpdateStrategy; u != nil && u.MaxSurge != nil {
		return amount(*u.MaxSurge, replicas(spec), math.Ceil)
	}
	return 1
}

// unavailableOf returns how many VMs can be missing during an update. A percentage is rounded down. If both percentages are zero, it is one.
func unavailableOf(spec *v1alpha1.VmGroupSpec) int {
	u := spec.UpdateStrategy
	if u == nil || u.MaxUnavailable == nil {
		return 0
	}
	n := amount(*u.MaxUnavailable, replicas(spec), math.Floor)
	if n == 0 && u.MaxUnavailable.Type == intstr.String && u.MaxSurge != nil && u.MaxSurge.Type == intstr.String && surgeOf(spec) == 0 {
		return 1
	}
	return n
}

func amount(n intstr.IntOrString, of int, round func(float64) float64) int {
	if n.Type == intstr.Int {
		return int(n.IntVal)
	}
	percent, _ := strconv.Atoi(strings.TrimSuffix(n.StrVal, "%"))
	return int(round(float64(percent) * float64(of) / 100))
}
