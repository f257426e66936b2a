package inventory

import (
	"maps"
	"slices"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const suddenlyEmpty = "the root folder held VMs of this installation and then read empty at once; check " +
	"vCenter, its permissions and its inventory, and accept the empty inventory on the VCenter if it is right"

// emptyAtLeast is how many VMs must vanish together to be an accident: a single VM may well be deleted.
const emptyAtLeast = 2

// guardListing is called with the stamped VMs that a listing lacks, and the number that it shows.
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

// guardLeft is called with the stamped VMs that left in one piece of news.
func (x *Index) guardLeft(left []vsphere.Ref) {
	if len(left) < emptyAtLeast || x.acceptEmpty || x.lost != nil {
		return
	}
	for _, e := range x.vms {
		if e.state == Present && x.ours(e) {
			return
		}
	}
	x.loseAll(left)
}

func (x *Index) loseAll(refs []vsphere.Ref) {
	x.lost = make(map[vsphere.Ref]struct{}, len(refs))
	x.recorded, x.explained = nil, nil
	for _, ref := range refs {
		x.lost[ref] = struct{}{}
	}
}

// reappeared ends the alarm when one of the VMs that vanished is back. A new VM does not: it may be the last
// clone that was on its way. What it carries by now does not matter: its host may be away. After a restart nobody knows which VMs there were, so any ends it.
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

// beforeUs reports whether the alarm is about an inventory from before this process.
func (x *Index) beforeUs() bool { return x.lost != nil && len(x.lost) == 0 }

// Vanished returns the VMs that the alarm is about; none while there is no alarm. If it is about an inventory from before this process, they are those that groups have
// recorded, and none while not all of them are known.
func (x *Index) Vanished() []vsphere.Ref {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.beforeUs() {
		return slices.Collect(maps.Keys(x.recorded))
	}
	return slices.Collect(maps.Keys(x.lost))
}

// Explained says that these VMs were rightly destroyed, by another replica or by a predecessor. The alarm ends when that is so for all that
// vanished.
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
	x.mu.Unlock()
	x.notify(touched, changed)
}

// Expect says which VMs the groups count on. If there are hardly any, that ends an alarm about an inventory from before this process: VMs that were counted then, and were
// being destroyed, are rightly gone. Else it is known from now on which VMs are to be explained.
func (x *Index) Expect(e vsphere.Expectation) {
	touched := groups{}
	x.mu.Lock()
	changed := x.beforeUs() && (e.VMs < emptyAtLeast || x.record(e))
	if changed {
		x.lost = nil
		x.everybody(touched)
	}
	x.mu.Unlock()
	x.notify(touched, changed)
}

// record notes which VMs groups have recorded, and reports whether all of them are explained. Of none that is never so.
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

// SuddenlyEmpty reports whether the alarm is on.
func (x *Index) SuddenlyEmpty() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost != nil
}

// AcceptEmpty says that the root folder is rightly empty. It holds until VMs are there again.
func (x *Index) AcceptEmpty() {
	touched := groups{}
	x.mu.Lock()
	changed := x.lost != nil
	x.lost = nil
	x.acceptEmpty = true
	if changed {
		x.everybody(touched)
	}
	x.mu.Unlock()
	x.notify(touched, changed)
}
