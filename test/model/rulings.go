package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// ruled wakes the group, as a change of policies, grants, or templates does.
func (w *world) ruled(format string, args ...any) string {
	w.op.wake("rules changed")
	return fmt.Sprintf(format, args...)
}

// beginQuota counts the group's VMs, with clones and changes in flight, and its admitted usage, as a new quota does. A deleted VM counts until the operator
// knows that.
func (w *world) beginQuota() {
	vms, cpus := w.vc.charged()
	cpus += w.vc.coming() + w.vc.growing()
	if g := w.api.group; g != nil {
		for _, vm := range g.Status.VMs {
			if at, deleted := w.vc.removed[vm.MoRef]; deleted && (w.vc.away || w.now.Before(at.Add(confirmAfter))) {
				vms, cpus = vms+1, cpus+cpusOf(g, vm.Revision)
			}
		}
	}
	if r := w.hub.record; r != nil {
		vms, cpus = max(vms, int64(r.Replicas)), max(cpus, int64(r.Replicas)*int64(r.CPU))
	}
	w.ledger.begin(vms, cpus)
}

// cpusOf returns the CPUs of a VM of a revision.
func cpusOf(g *v1alpha1.VmGroup, revision string) int64 {
	for _, r := range slices.Concat(g.Status.Revisions, g.Status.AdoptedRevisions) {
		if r.Revision == revision {
			return int64(r.CPU)
		}
	}
	return int64(g.Spec.CPU)
}

// rulings are actions of hub administrators and of the hub.
var rulings = map[string]func(w *world, n int) string{
	"template-goes": func(w *world, n int) string {
		name := templateNames[n%3]
		t := w.catalog.templates[name]
		t.exists = n/4%4 == 0
		return w.ruled("template %s exists: %v", name, t.exists)
	},
	"template-of-spec-goes": func(w *world, _ int) string {
		if w.api.group == nil {
			return "nothing"
		}
		t := w.catalog.templates[w.api.group.Spec.Template]
		t.exists = !t.exists
		return w.ruled("template %s exists: %v", w.api.group.Spec.Template, t.exists)
	},
	"grant": func(w *world, n int) string {
		name := templateNames[n%3]
		t := w.catalog.templates[name]
		t.granted = n/4%3 == 0
		return w.ruled("template %s is granted: %v", name, t.granted)
	},
	"deny": func(w *world, n int) string {
		name := templateNames[n%3]
		t := w.catalog.templates[name]
		t.allowed = n/4%3 == 0
		return w.ruled("template %s is allowed: %v", name, t.allowed)
	},
	"limits": func(w *world, n int) string {
		c := &w.catalog
		c.mostReplicas, c.leastReplicas, c.mostCPU = []int{0, 2, 3}[n%3], []int{0, 0, 2}[n/3%3], []int{0, 0, 2}[n/9%3]
		return w.ruled("limits: replicas %d to %d, cpu at most %d", c.leastReplicas, c.mostReplicas, c.mostCPU)
	},
	"policies-unread": func(w *world, n int) string {
		w.catalog.unread = n%3 > 0
		return w.ruled("policies are unread: %v", w.catalog.unread)
	},
	"secret": func(w *world, n int) string {
		w.catalog.userDataMissing = n%2 == 0
		return w.ruled("the Secret of user data is missing: %v", w.catalog.userDataMissing)
	},
	"quota": func(w *world, n int) string {
		l := &w.ledger
		if !l.limited() {
			w.beginQuota()
		}
		l.limit.VMs = l.others + int64(n%7)
		l.limit.CPUs = 0
		if n/8%3 == 0 {
			l.limit.CPUs = l.others + 2*int64(n%7)
		}
		if n/24%5 == 0 {
			l.limit = Quota{}
		}
		return w.ruled("quota %+v, others have %d", l.limit, l.others)
	},
	"quota-tight": func(w *world, n int) string {
		l := &w.ledger
		if w.api.group == nil {
			return "no quota"
		}
		if !l.limited() {
			w.beginQuota()
		}
		l.limit = Quota{VMs: l.others + int64(replicas(&w.api.group.Spec)) + int64(n%3)}
		return w.ruled("quota %+v, others have %d", l.limit, l.others)
	},
	"others": func(w *world, n int) string {
		w.ledger.others = int64(n % 4)
		return w.ruled("other groups have %d VMs", w.ledger.others)
	},
	"ledger-unread": func(w *world, n int) string {
		w.ledger.unread = n%3 > 0
		return w.ruled("the ledger is unread: %v", w.ledger.unread)
	},
	"hub": func(w *world, n int) string {
		w.hub.away = n%3 > 0
		return w.ruled("the hub is unreachable: %v", w.hub.away)
	},
	"record-lost": func(w *world, _ int) string {
		w.hub.record = nil
		return w.ruled("the record is lost")
	},
	"record-restored": func(w *world, n int) string {
		if len(w.hub.before) == 0 {
			return "no record is restored"
		}
		w.hub.record = w.hub.before[n%len(w.hub.before)].DeepCopy()
		w.audit.restored(w)
		return w.ruled("an older record is restored")
	},
	"mass-deletion": func(w *world, n int) string {
		w.hub.trips = n%3 > 0
		return w.ruled("other groups remove VMs: %v", w.hub.trips)
	},
	"confirm": func(w *world, n int) string {
		switch n % 4 {
		case 0, 2:
			w.api.annotate(v1alpha1.ConfirmDeletionAnnotation, groupUID)
			return "the removal is confirmed"
		case 3:
			w.api.annotate(v1alpha1.ConfirmDeletionAnnotation, "another")
			return "the removal of another object is confirmed"
		}
		w.hub.massUntil = w.now.Add(30 * time.Minute)
		return w.ruled("a hub administrator lets removals pass for half an hour")
	},
	"crd": func(w *world, n int) string {
		w.hub.crdGoing = n%3 == 0
		return w.ruled("the CRD is being deleted: %v", w.hub.crdGoing)
	},
	"privileges": func(w *world, n int) string {
		w.vc.lacks = [][]string{nil, {"VirtualMachine.Config.CPUCount", "VirtualMachine.Config.Memory"}}[n%2]
		return w.ruled("lacks %v", w.vc.lacks)
	},
}
