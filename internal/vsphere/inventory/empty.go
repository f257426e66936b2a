package inventory

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const suddenlyEmpty = "the root folder held VMs of this installation and then read empty at once; check " +
	"vCenter, its permissions and its inventory, and accept the empty inventory on the VCenter if it is right"

// emptyAtLeast is the number of VMs that must vanish together to raise the alarm: the deletion of a single VM is normal.
const emptyAtLeast = 2

// guardListing is called with the stamped VMs that a listing lacks, and with the number of those it shows.
func (x *Index) guardListing(missing []vsphere.Ref, stamped int) {
	x.reappeared()
	if stamped > 0 {
		x.acceptEmpty = false
		return
	}
	if x.acceptEmpty || x.lost != nil {
		return
	}
	seeded := !x.listed && x.cfg.ExpectedVMs >= emptyAtLeast
	if len(missing) >= emptyAtLeast || seeded {
		x.loseAll(missing)
	}
}

// guardLeft is called with the stamped VMs that left in one update.
func (x *Index) guardLeft(left []vsphere.Ref) {
	if len(left) >= emptyAtLeast && x.here == 0 && !x.acceptEmpty && x.lost == nil {
		x.loseAll(left)
	}
}

func (x *Index) loseAll(refs []vsphere.Ref) {
	x.lost = make(map[vsphere.Ref]struct{}, len(refs))
	x.recorded, x.explained = nil, nil
	for _, ref := range refs {
		x.lost[ref] = struct{}{}
	}
}

// reappeared ends the alarm if one of the vanished VMs is back, whatever it carries now, because its host can be unreachable. A new VM does not end the alarm:
// it can be the last running clone. After a restart the former VMs are unknown, so any VM of ours ends it.
func (x *Index) reappeared() {
	if x.lost == nil {
		return
	}
	for ref, e := range x.vms {
		_, was := x.lost[ref]
		if e.state == Present && (was || len(x.lost) == 0 && x.ours(e)) {
			x.lost = nil
			return
		}
	}
}

// beforeUs reports whether the alarm concerns an inventory from before this process.
func (x *Index) beforeUs() bool { return x.lost != nil && len(x.lost) == 0 }

// Vanished returns the VMs of the alarm, or none without an alarm. If the alarm concerns an inventory from before this process, they are the VMs that groups
// have recorded. While not all of those are known, Vanished returns none.
func (x *Index) Vanished() []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.beforeUs() {
		return slices.Collect(maps.Keys(x.recorded))
	}
	return slices.Collect(maps.Keys(x.lost))
}

// Explained records that another replica or a predecessor correctly destroyed these VMs. When all vanished VMs are explained, the alarm ends.
func (x *Index) Explained(refs []vsphere.Ref) {
	touched := groups{}
	x.mu.Lock()
	missed := x.lost
	if x.beforeUs() {
		missed = x.recorded
	}
	changed := false
	for _, ref := range refs {
		if _, is := missed[ref]; !is {
			continue
		}
		delete(missed, ref)
		if x.explained == nil {
			x.explained = map[vsphere.Ref]struct{}{}
		}
		x.explained[ref] = struct{}{}
		changed = true
	}
	if changed = changed && len(missed) == 0; changed {
		x.lost = nil
		x.everybody(touched)
	}
	x.unlock()
	x.notify(touched, changed)
}

// Expect sets the VMs that the groups expect. If there are fewer than emptyAtLeast, it ends an alarm about an inventory from before this process: the VMs
// counted then were being destroyed. Otherwise the VMs that need an explanation are known from now on.
func (x *Index) Expect(e vsphere.Expectation) {
	touched := groups{}
	x.mu.Lock()
	changed := x.beforeUs() && (e.VMs < emptyAtLeast || x.record(e))
	if changed {
		x.lost = nil
		x.everybody(touched)
	}
	x.unlock()
	x.notify(touched, changed)
}

// record stores the VMs in the groups' status, and reports whether all are explained. An empty list is never explained.
func (x *Index) record(e vsphere.Expectation) (explained bool) {
	x.recorded = nil
	if e.Unrecorded {
		return false
	}
	x.recorded = map[vsphere.Ref]struct{}{}
	for _, ref := range e.Recorded {
		if _, done := x.explained[ref]; !done {
			x.recorded[ref] = struct{}{}
		}
	}
	return len(e.Recorded) > 0 && len(x.recorded) == 0
}

// AcceptEmpty confirms that the empty root folder is correct, until it holds VMs again.
func (x *Index) AcceptEmpty() {
	touched := groups{}
	x.mu.Lock()
	changed := x.lost != nil
	x.lost = nil
	x.acceptEmpty = true
	if changed {
		x.everybody(touched)
	}
	x.unlock()
	x.notify(touched, changed)
}
