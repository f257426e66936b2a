package model

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
)

// end runs the end of the history.
func (w *world) end(how End) {
	if w.api.group == nil {
		w.gone(nil)
		return
	}
	if w.api.deleting() && how == Healed {
		how = Deleted
	}
	w.say("END %s", how)
	switch how {
	case Healed:
		w.heal()
		w.advance(2 * time.Minute) // an edit counts only after the operator has observed the VMs
		w.healSpec()
		w.advance(endsIn)
		w.whole()
	case Deleted, Kept:
		w.leave(how)
	case Forgotten:
		w.forget()
	}
}

// heal repairs everything except the group's spec.
func (w *world) heal() {
	v := &w.vc
	v.setAway(false)
	v.partial, v.unreadCatalog, v.slots, v.lacks, v.refuse = false, false, 0, nil, map[string]refusal{}
	settle := v.pace.settle
	v.pace = paceOf(Setup{})
	v.pace.settle = settle
	home, exists := v.at(groupLeaf())
	v.vms = slices.DeleteFunc(v.vms, func(m *machine) bool { return m.stamp == nil && m.mark == nil })
	for _, m := range slices.Clone(v.vms) {
		if m.hostAway && !m.unnoticed() {
			m.backAt = w.now
		}
		if m.sick && !m.unnoticed() {
			m.healedAt = w.now
		}
		m.hidden, m.hostAway, m.sick, m.stubborn, m.disk, m.snapshot = false, false, false, false, false, false
		m.touched()
		if m.folder == elsewhere && m.owned() && exists {
			if v.nameTaken(home.Ref.Value, m.name) == nil {
				m.folder = home.Ref.Value
			} else {
				v.remove(m)
			}
		}
	}
	w.catalog = newCatalog()
	w.hub.away, w.hub.memberPaused, w.hub.trips, w.hub.crdGoing = false, false, false, false
	w.hub.massUntil = w.now.Add(time.Hour)
	w.ledger.limit, w.ledger.unread = Quota{}, false
	w.op.wake("everything was put right")
	w.api.edit(func(g *v1alpha1.VmGroup) {
		g.Spec.Paused = false
		delete(g.Annotations, v1alpha1.PausedAnnotation)
	})
}

// healSpec gives the group a valid spec without obstacles, and requests the replacement of all VMs.
func (w *world) healSpec() {
	w.api.edit(func(g *v1alpha1.VmGroup) {
		s := &g.Spec
		g.Annotations = map[string]string{}
		if s.Template == "bad" {
			s.Template = "a"
		}
		s.Replicas = ptr.To(max(1, ptr.Deref(s.Replicas, 1)))
		s.UpdateStrategy = &v1alpha1.UpdateStrategy{ReplaceTrigger: "healed"}
		s.ScaleDown, s.Repair, s.Shutdown, s.PowerState, s.DeletionPolicy = nil, nil, nil, "", ""
		s.Readiness = &v1alpha1.Readiness{Gate: v1alpha1.GateGuestHeartbeat}
	})
}

// whole checks that a healed group matches its spec.
func (w *world) whole() {
	a, g := &w.audit, w.api.group
	if a.failed() {
		return
	}
	want := replicas(&g.Spec)
	own := slices.DeleteFunc(w.vc.own(), func(m *machine) bool { return returned(&g.Status, m) })
	if len(own) != want {
		a.violated(w, "healed", "%d VMs, and %d are wanted: %s", len(own), want, describe(&g.Status))
		return
	}
	for _, m := range own {
		network := "default"
		if p := g.Spec.Placement; p != nil && p.Network != "" {
			network = p.Network
		}
		as := m.stamp.Revision == plan.Revision(g.Spec) && m.template == g.Spec.Template && m.cpu == g.Spec.CPU && m.memory == int64(g.Spec.Memory)*1024 && m.network == network &&
			m.rootGiB >= g.Spec.Shape().RootDiskGiB() && m.data.Has(plan.WantedDisks(g.Spec.Shape())) && !m.data.Unidentified()
		if !as || m.tombstone || !m.available(w.now, &g.Spec) {
			a.violated(w, "healed", "%s is not as spec says (%+v): %s", m.name, *m, describe(&g.Status))
			return
		}
	}
	if g.Status.Phase != v1alpha1.PhaseRunning {
		a.violated(w, "healed", "the group says %s", describe(&g.Status))
	}
}

// leave deletes the group, and later repairs everything.
func (w *world) leave(how End) {
	retains := w.api.group.Spec.DeletionPolicy == v1alpha1.DeletionRetain
	before := map[string]string{}
	var stay []*machine
	for _, m := range w.vc.living() {
		if !slices.Contains(w.api.group.Status.Deleting, m.stamp.Ordinal) {
			stay = append(stay, m)
			before[m.ref] = string(m.power)
		}
	}
	calm := len(w.vc.tasks) == 0 && len(w.vc.orphans) == 0
	had := w.api.deleting()
	if how == Kept {
		w.api.annotate(v1alpha1.ReleaseAnnotation, groupUID)
	} else if !had || w.undecided(w.api.group) {
		w.api.annotate(v1alpha1.ReleaseAnnotation, "")
	}
	released := w.api.group != nil && w.api.group.Annotations[v1alpha1.ReleaseAnnotation] == groupUID
	w.api.remove()
	w.advance(6 * time.Minute)
	if w.audit.failed() {
		return
	}
	w.heal()
	w.advance(endsIn / 2)
	if w.audit.failed() {
		return
	}
	if w.api.group != nil {
		w.audit.violated(w, "deleted", "the group is still there: %s", describe(&w.api.group.Status))
		return
	}
	switch {
	case released:
		w.kept(stay, before, calm)
	case retains && !had:
		for _, m := range stay {
			if w.vc.vm(m.ref) == nil || m.tombstone {
				w.audit.violated(w, "retained", "%s was to stay", m.name)
			}
		}
		w.gone(nil)
	default:
		w.gone(nil)
	}
}

// gone checks that no VMs of a deleted group are left, except kept ones.
func (w *world) gone([]*machine) {
	if w.hub.receipt != nil {
		return
	}
	for _, m := range w.vc.own() {
		if m.strayed {
			continue // it was reported as a copy, and is reported as orphaned
		}
		w.audit.violated(w, "left-behind", "%s (%s) is left, and the group was deleted", m.name, m.ref)
	}
}

// kept checks that the kept VMs of a deleted group are unchanged, and that the receipt lists them.
func (w *world) kept(stay []*machine, before map[string]string, calm bool) {
	a := &w.audit
	for _, m := range stay {
		switch {
		case w.vc.vm(m.ref) == nil || !m.owned() || m.tombstone:
			a.violated(w, "kept", "%s was to be kept", m.name)
		case calm && string(m.power) != before[m.ref]:
			a.violated(w, "kept", "%s was %s, and is %s", m.name, before[m.ref], m.power)
		}
	}
	if w.hub.receipt == nil {
		if len(w.vc.own()) > 0 {
			a.violated(w, "kept", "there is no receipt for %d VMs", len(w.vc.own()))
		}
		return
	}
	var listed, own []string
	for _, vm := range w.hub.receipt.VMs {
		listed = append(listed, vm.MoRef)
	}
	for _, m := range w.vc.own() {
		own = append(own, m.ref)
	}
	slices.Sort(listed)
	slices.Sort(own)
	if !slices.Equal(listed, own) {
		a.violated(w, "kept", "the receipt has %v, and there are %v", listed, own)
	}
}

// forget makes the vCenter unreachable permanently.
func (w *world) forget() {
	had := w.api.deleting()
	w.vc.setAway(true)
	w.vc.awaySince = w.now.Add(-25 * time.Hour)
	there := len(w.vc.vms)
	w.api.remove()
	w.api.annotate(v1alpha1.ForgetAnnotation, groupUID)
	w.advance(time.Minute)
	w.hub.away, w.hub.memberPaused, w.hub.crdGoing = false, false, false
	w.hub.forgetUntil = w.now.Add(30 * time.Minute)
	w.api.edit(func(g *v1alpha1.VmGroup) {
		g.Spec.Paused = false
		delete(g.Annotations, v1alpha1.PausedAnnotation)
	})
	w.op.wake("the hub is back")
	w.advance(20 * time.Minute)
	switch {
	case w.audit.failed():
	case w.api.group != nil:
		w.audit.violated(w, "forgotten", "the group is still there: %s", describe(&w.api.group.Status))
	case !had && len(w.vc.vms) < there && len(w.vc.tasks)+len(w.vc.orphans) == 0:
		w.audit.violated(w, "forgotten", "%d VMs are left of %d", len(w.vc.vms), there)
	}
}
