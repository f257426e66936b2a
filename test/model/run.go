package model

import (
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// restFor is the duration of the rest after the events. In the last quietFor of it, no action is allowed any more.
	restFor, quietFor = 35 * time.Minute, 12 * time.Minute
	// slowFor is the additional rest if everything takes long.
	slowFor = 90 * time.Minute
	// endsIn is the time limit of the end.
	endsIn = 70 * time.Minute
)

// Run runs a history and returns its violation, or nil. If logged is true, it also returns the log of the run.
func Run(h History, logged bool) (*Violation, []string) {
	w := newWorld(h.Setup)
	if !logged {
		w.log = nil
	}
	if h.Setup.Adopts > 0 {
		w.former(h.Setup.Adopts)
	}
	for _, e := range h.Events {
		w.advance(e.Wait)
		if w.audit.failed() {
			break
		}
		w.audit.probe(w)
		w.backup()
		w.say("EVENT %s", kinds[e.Kind](w, e.N))
	}
	w.rest()
	if !w.audit.failed() {
		w.end(h.End)
	}
	var log []string
	if w.log != nil {
		log = *w.log
	}
	return w.audit.violation, log
}

// rest lets at least 35 minutes pass, and checks the group.
func (w *world) rest() {
	w.say("REST")
	w.vc.refuse = map[string]refusal{}
	w.op.dies, w.api.before = lives, nil
	if w.setup.Slow {
		w.advance(slowFor)
	}
	w.advance(w.shutdowns())
	for _, part := range []time.Duration{3 * time.Minute, 10 * time.Minute, 11 * time.Minute} {
		w.advance(part)
		w.audit.probe(w)
	}
	if w.audit.failed() {
		return
	}
	w.audit.quiet = w.now
	w.advance(restFor - 24*time.Minute)
	w.advance(time.Minute)
	w.audit.probe(w)
	w.audit.atRest(w)
	w.audit.quiet = time.Time{}
}

// shutdowns is the additional rest for guests that ignore a shutdown. An update removes their VMs one at a time, and waits for the timeout of each. The rest
// itself is long enough for one.
func (w *world) shutdowns() time.Duration {
	if w.api.group == nil {
		return 0
	}
	ignore := 0
	for _, m := range w.vc.living() {
		if m.sick || m.stubborn {
			ignore++
		}
	}
	return time.Duration(max(0, ignore-1)) * shutdownOf(&w.api.group.Spec)
}

// former creates the VMs of a deleted group, with a receipt on the hub, and makes the group adopt them.
func (w *world) former(n int) {
	folder := w.vc.ensure("former." + formerUID[:8])
	for i := range n {
		w.vc.vms = append(w.vc.vms, &machine{
			ref: w.vc.ref("vm-"), name: "former-" + string(rune('0'+i)), folder: folder.Ref.Value, uuid: formerUUID(i), template: "a", network: "default", boots: true,
			cpu: 2, memory: 2048, power: vsphere.PoweredOn, version: 1, onAt: epoch.Add(-time.Hour), upAt: epoch.Add(-time.Hour),
			stamp: &vsphere.Stamp{
				GroupID: vsphere.GroupID{Installation: installation, Member: memberUID, Group: formerUID}, Ordinal: int32(i), Revision: "1-former0000", CloneMode: "Full",
				Created: epoch.Add(-2 * time.Hour),
			},
		})
		w.hub.adoptable = append(w.hub.adoptable, w.vc.vms[len(w.vc.vms)-1].ref)
	}
	w.api.group.Annotations[adoptAnnotation] = formerUID
}

// backup keeps a copy of the group.
func (w *world) backup() {
	if w.api.group == nil {
		return
	}
	w.backups = append(w.backups, backup{w.api.group.DeepCopy(), w.audit.edit})
	if len(w.backups) > 5 {
		w.backups = w.backups[1:]
	}
}
