package model

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// atRest checks the group after the rest.
func (a *audit) atRest(w *world) {
	g := w.api.group
	if most := 14 * (a.edits + len(w.backups) + 4); a.clones > most && !a.failed() {
		a.violated(w, "clones", "%d clones, at most %d make sense", a.clones, most)
	}
	if g == nil || a.failed() || w.blind() {
		return
	}
	if g.DeletionTimestamp != nil {
		a.deletionAtRest(w, g)
		return
	}
	if g.Status.ObservedGeneration != g.Generation && !w.hub.away {
		a.violated(w, "unobserved", "generation is %d, and %d was observed", g.Generation, g.Status.ObservedGeneration)
		return
	}
	if g.Status.ObservedGeneration != g.Generation {
		return
	}
	a.agrees(w, g)
	a.names(w, g)
	a.clonesNone(w, g)
	a.waitsForRoom(w, g)
	a.lacks(w, g)
}

// blind reports whether the operator cannot see the whole inventory. A VM that becomes invisible while it is released has lost the group's stamp, and status
// still lists it. The operator cannot distinguish it from a VM of the group.
func (w *world) blind() bool {
	released := func(m *machine) bool {
		return m.hidden && slices.ContainsFunc(w.api.group.Status.VMs, func(vm v1alpha1.VMStatus) bool { return vm.MoRef == m.ref })
	}
	outOfSight := func(m *machine) bool { return m.hidden || m.folder == elsewhere }
	return w.vc.away || w.vc.partial || w.vc.inherits() || slices.ContainsFunc(w.vc.own(), outOfSight) ||
		w.api.group != nil && slices.ContainsFunc(w.vc.vms, released)
}

// deletionAtRest checks that a deletion ends if nothing holds it.
func (a *audit) deletionAtRest(w *world, g *v1alpha1.VmGroup) {
	held := w.paused(g) != nil || w.hub.trips || w.hub.crdGoing || w.hub.away || w.undecided(g) || w.vc.slots > 0 && len(w.vc.own()) > 4 ||
		slices.ContainsFunc(w.vc.own(), func(m *machine) bool { return m.hostAway || m.disk })
	if removing := condition(&g.Status, v1alpha1.ConditionRemoving); removing != nil && (removing.Reason == v1alpha1.ReasonMassDeletion || removing.Reason == v1alpha1.ReasonCRDTerminating) {
		held = true // a held deletion stays held
	}
	if !held {
		a.violated(w, "stuck-deletion", "the group is still there: %s", g.Status.LastMessage)
	}
}

// undecided reports whether the group requests to keep its VMs with a wrong value: the deletion waits for a user's decision.
func (w *world) undecided(g *v1alpha1.VmGroup) bool {
	asked := g.Annotations[v1alpha1.ReleaseAnnotation]
	return asked != "" && asked != groupUID
}

// agrees compares status with the world.
func (a *audit) agrees(w *world, g *v1alpha1.VmGroup) {
	st := &g.Status
	there, updated, available := 0, 0, 0
	for _, m := range w.vc.living() {
		at := slices.IndexFunc(st.VMs, func(vm v1alpha1.VMStatus) bool { return vm.MoRef == m.ref })
		if at < 0 {
			if returned(st, m) {
				continue
			}
			a.violated(w, "status", "%s (%s) is not in status", m.name, m.ref)
			return
		}
		if slices.Contains(st.Deleting, m.stamp.Ordinal) {
			continue
		}
		there++
		if m.stamp.Revision == plan.Revision(g.Spec) {
			updated++
			a.asLargeAsAsked(w, m, g)
		}
		if m.available(w.now, &g.Spec) {
			available++
		}
	}
	if int(st.Replicas) != there || int(st.UpdatedReplicas) != updated {
		a.violated(w, "status", "there are %d VMs, %d of them as spec says; status says %d and %d", there, updated, st.Replicas, st.UpdatedReplicas)
	}
	if c := condition(st, v1alpha1.ConditionReady); c != nil && c.Status == "True" {
		if want := replicas(&g.Spec); available < want && w.paused(g) == nil {
			a.violated(w, "ready", "Ready is True with %d of %d VMs available: %s", available, want, c.Message)
		}
	}
	if c := condition(st, v1alpha1.ConditionUpToDate); c != nil && c.Status == "True" && updated != there {
		a.violated(w, "up-to-date", "UpToDate is True with %d of %d VMs as spec says: %s", updated, there, c.Message)
	}
	if c := condition(st, v1alpha1.ConditionPolicyCompliant); c != nil && c.Reason == v1alpha1.ReasonQuotaExceeded && !w.ledger.limited() && w.paused(g) == nil {
		a.violated(w, "quota-words", "there is no quota: %s", c.Message)
	}
}

// asLargeAsAsked checks the disks of a VM that counts as updated.
func (a *audit) asLargeAsAsked(w *world, m *machine, g *v1alpha1.VmGroup) {
	if size := g.Spec.Shape().RootDiskGiB(); m.rootGiB < size {
		a.violated(w, "disk", "%s (%s) counts as updated, and has a disk of %d GiB; spec asks for %d", m.name, m.ref, m.rootGiB, size)
	}
	if wanted := plan.WantedDisks(g.Spec.Shape()); !m.data.Has(wanted) {
		a.violated(w, "data-disks", "%s (%s) counts as updated, and has the data disks %q; spec asks for %+v", m.name, m.ref, m.data, wanted)
	}
}

// progress are reasons that name work. At rest they must name what the group waits for.
var progress = []string{
	v1alpha1.ReasonScalingUp, v1alpha1.ReasonScalingDown, v1alpha1.ReasonStarting, v1alpha1.ReasonStopping, v1alpha1.ReasonRepairing, v1alpha1.ReasonRolloutProgressing, v1alpha1.ReasonDeleting,
}

// staleAfter is how long status can keep the time of a shutdown after the guest's timeout.
const staleAfter = 15 * time.Minute

// shutdownOf is the shutdown timeout of a guest.
func shutdownOf(spec *v1alpha1.VmGroupSpec) time.Duration {
	switch s := spec.Shutdown; {
	case s == nil || s.Mode != v1alpha1.ShutdownHard && s.TimeoutSeconds == 0:
		return v1alpha1.DefaultShutdownTimeoutSeconds * time.Second
	case s.Mode == v1alpha1.ShutdownHard:
		return 0
	default:
		return time.Duration(s.TimeoutSeconds) * time.Second
	}
}

// names checks that a waiting group reports the cause.
func (a *audit) names(w *world, g *v1alpha1.VmGroup) {
	st := &g.Status
	for _, c := range st.Conditions {
		if strings.Contains(c.Message, "in progress.") {
			a.violated(w, "goes-on-at-rest", "%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
		if strings.Contains(c.Message, "removing 0") {
			a.violated(w, "removes-none", "%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, vm := range st.VMs {
		if vm.ShutdownTime != nil && w.now.Sub(vm.ShutdownTime.Time) > shutdownOf(&g.Spec)+staleAfter {
			a.violated(w, "stale-time", "%s: its guest was asked to shut down at %s, and status says so at rest", vm.Name, vm.ShutdownTime)
		}
	}
	c := condition(st, v1alpha1.ConditionReady)
	if c == nil || c.Status != "False" {
		return
	}
	var waited []string
	for _, m := range w.vc.living() {
		if !m.available(w.now, &g.Spec) && !slices.Contains(st.Deleting, m.stamp.Ordinal) {
			waited = append(waited, m.name)
		}
	}
	switch {
	case c.Reason == v1alpha1.ReasonNameConflict:
		a.violated(w, "name-hides", "a name that another VM has holds nothing up: %s; not available: %v", c.Message, waited)
	case slices.Contains(progress, c.Reason) && !strings.Contains(c.Message, groupName+"-"):
		a.violated(w, "nothing-named", "Ready=False/%s names nothing: %s; not available: %v", c.Reason, c.Message, waited)
	}
}

// cloning finds the VM in a message about a running clone.
var cloning = regexp.MustCompile(`\bcloning (` + groupName + `-[0-9]+)`)

// clonesNone checks that no message reports a running clone of a VM if vCenter has no such clone: the group waits, and must report the cause. A clone that
// waits for a free task slot counts as running.
func (a *audit) clonesNone(w *world, g *v1alpha1.VmGroup) {
	if w.vc.slots > 0 || w.paused(g) != nil {
		return
	}
	for _, c := range g.Status.Conditions {
		if said := cloning.FindStringSubmatch(c.Message); said != nil && !w.vc.clones(said[1]) {
			a.violated(w, "clones-none", "vCenter does not clone %s: %s=%s/%s: %s", said[1], c.Type, c.Status, c.Reason, c.Message)
		}
	}
}

// waitsForRoom checks that an update reports WaitingForQuota if no VM can be missing and the quota has no room for another one.
func (a *audit) waitsForRoom(w *world, g *v1alpha1.VmGroup) {
	spec, c := &g.Spec, condition(&g.Status, v1alpha1.ConditionUpToDate)
	if c == nil || c.Reason == v1alpha1.ReasonRolloutStopped || w.hindered(g) || w.full(spec, 0) || !w.full(spec, 1) || !w.needsOneMore(g) {
		return
	}
	if c.Reason != v1alpha1.ReasonWaitingForQuota {
		a.violated(w, "room-unnamed", "an update needs one more VM, and the quota has no room: UpToDate=%s/%s: %s", c.Status, c.Reason, c.Message)
	}
}

// needsOneMore reports whether an update can continue only with one more VM: it waits for no VM that is being removed or is not available.
func (w *world) needsOneMore(g *v1alpha1.VmGroup) bool {
	st, spec, own := &g.Status, &g.Spec, w.vc.own()
	if st.Rollout == nil || len(st.Rollout.From) == 0 || unavailableOf(spec) > 0 || surgeOf(spec) == 0 || spec.PowerState == v1alpha1.PoweredOff {
		return false
	}
	return len(own) == replicas(spec) && !slices.ContainsFunc(own, func(m *machine) bool {
		return !m.available(w.now, spec) || m.template == spec.Template || m.tombstone || slices.Contains(st.Deleting, m.stamp.Ordinal)
	})
}

// leftToPeople reports whether the operator must not clone or update VMs without a user, by the spec.
func leftToPeople(spec *v1alpha1.VmGroupSpec) bool {
	u := spec.UpdateStrategy
	return spec.Repair != nil && (spec.Repair.Mode == v1alpha1.RepairObserve || spec.Repair.MaxUnhealthy != nil) || spec.DeletionPolicy == v1alpha1.DeletionRetain ||
		u != nil && (u.Paused || u.Type == v1alpha1.UpdateOnDelete)
}

// hindered reports whether anything except quotas and vCenter can keep the operator from cloning VMs as in spec.
func (w *world) hindered(g *v1alpha1.VmGroup) bool {
	return !w.permitted(&g.Spec) || w.paused(g) != nil || w.vc.unreadCatalog || w.hub.away || w.ledger.unread || g.Annotations[adoptAnnotation] != "" || leftToPeople(&g.Spec)
}

// lacks checks that a group has as many VMs as its spec, if nothing forbids that.
func (a *audit) lacks(w *world, g *v1alpha1.VmGroup) {
	st, spec := &g.Status, &g.Spec
	if w.hindered(g) {
		return
	}
	says := func(of string, reasons ...string) bool {
		c := condition(st, of)
		return c != nil && slices.Contains(reasons, c.Reason)
	}
	if says(v1alpha1.ConditionUpToDate, v1alpha1.ReasonRolloutStopped) {
		return
	}
	compliant := v1alpha1.ConditionPolicyCompliant
	if w.full(spec, replicas(spec)-w.staying(st)) &&
		(says(v1alpha1.ConditionReady, v1alpha1.ReasonQuotaExceeded) || says(compliant, v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonPolicyTightened)) {
		return
	}
	if w.hub.trips && says(v1alpha1.ConditionReady, v1alpha1.ReasonMassDeletion) {
		return // a user must confirm first
	}
	if w.triedOut(g) {
		return // the update must not risk more VMs of the new revision, and the older one is lost: a user must act
	}
	if slices.ContainsFunc(w.vc.own(), func(m *machine) bool { return m.tombstone && (m.disk || m.hostAway) }) {
		return // it blocks until a user has acted
	}
	if there, want := w.staying(st), replicas(spec); there < want {
		a.violated(w, "lacks", "%d of %d VMs, and spec is allowed: %s", there, want, st.LastMessage)
	}
}

// staying counts the VMs of the group that are not being removed.
func (w *world) staying(st *v1alpha1.VmGroupStatus) (n int) {
	for _, m := range w.vc.living() {
		if !slices.Contains(st.Deleting, m.stamp.Ordinal) && !returned(st, m) {
			n++
		}
	}
	return n
}

// full reports whether the quota has no room for the missing VMs of a group, with its present VMs in the size of spec. Granted usage needs no room. Released
// VMs of the group count.
func (w *world) full(spec *v1alpha1.VmGroupSpec, lacks int) bool {
	var all policy.Usage
	all.VMs, all.CPU = w.vc.charged()
	before := w.granted().Max(all)
	all.VMs, all.CPU = all.VMs+int64(lacks), all.CPU+int64(lacks)*int64(w.added(spec))
	for _, m := range w.vc.living() {
		all.CPU += max(0, int64(spec.CPU)-int64(m.cpu))
	}
	if !slices.ContainsFunc(w.vc.living(), func(m *machine) bool { return m.stamp.Revision == plan.Revision(*spec) && m.available(w.now, spec) }) {
		// Each VM can be lost and return as an older, larger one.
		all.CPU = max(all.CPU, int64(replicas(spec))*int64(w.added(spec)))
	}
	return w.ledger.limited() && !w.ledger.room(before, all)
}

// granted is the usage that needs no room. After a record or a status was restored, it is only the usage in both: other groups can have been granted the rest
// since.
func (w *world) granted() policy.Usage {
	usage := w.ledger.granted
	if !w.ledger.restored || w.api.group == nil {
		return usage
	}
	for _, a := range []*v1alpha1.Admitted{w.hub.record, w.api.group.Status.Admitted} {
		if a != nil {
			usage.VMs, usage.CPU = min(usage.VMs, int64(a.Replicas)), min(usage.CPU, int64(a.Replicas)*int64(a.CPU))
		}
	}
	return usage
}

// added is the largest number of CPUs that a missing VM can have. As long as no VM of spec's revision has been ready, an update replaces missing VMs by older
// ones.
func (w *world) added(spec *v1alpha1.VmGroupSpec) int32 {
	most := spec.CPU
	for _, m := range w.vc.living() {
		if m.stamp.Revision != plan.Revision(*spec) {
			most = max(most, m.cpu)
		}
	}
	return most
}

// triedOut reports whether an update cannot continue: it has as many VMs of the new revision as it can risk, and none is available,
// because one failed or its host is disconnected. In addition, no VM of an older revision can be cloned.
func (w *world) triedOut(g *v1alpha1.VmGroup) bool {
	r, spec := g.Status.Rollout, &g.Spec
	if r == nil || len(r.From) == 0 {
		return false
	}
	tried, unproven := 0, len(r.Failed) > 0
	for _, m := range w.vc.living() {
		if m.stamp.Revision != r.Revision || slices.Contains(g.Status.Deleting, m.stamp.Ordinal) {
			continue
		}
		if tried++; m.available(w.now, spec) {
			return false
		}
		unproven = unproven || m.hostAway
	}
	return unproven && tried >= max(1, surgeOf(spec)+unavailableOf(spec)) && !slices.ContainsFunc(g.Status.Revisions, func(older v1alpha1.Revision) bool {
		was := plan.Apply(older, *spec)
		return slices.Contains(r.From, older.Revision) && w.clonable(&was)
	})
}

// returned reports whether status lists a VM as a copy, or as a VM that returned after its replacement. A restored status that does not contain the VM can take
// it for one, because its instance UUID is that of an earlier, lost VM. The operator does not act on it until a user has decided.
func returned(st *v1alpha1.VmGroupStatus, m *machine) bool {
	c := condition(st, v1alpha1.ConditionForeignVMs)
	return (m.unrecorded || m.strayed) && c != nil && strings.Contains(c.Message, "("+m.ref+")")
}

// copies counts the VMs, and their CPUs, that a restored status takes for copies. They count in totals, but the group claims nothing for them. A deletion of
// the group removes them, and claims nothing for them either.
func (w *world) copies() (vms, cpus int64) {
	for _, m := range w.vc.vms {
		if g := w.api.group; g != nil && g.DeletionTimestamp == nil {
			m.copied = m.owned() && returned(&g.Status, m)
		}
		if m.copied {
			vms, cpus = vms+1, cpus+int64(m.cpu)
		}
	}
	return vms, cpus
}
