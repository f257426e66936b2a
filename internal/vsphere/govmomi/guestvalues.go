package govmomi

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// guestFirst is how soon a VM is read that was not read since it was powered on: others may come along.
	guestFirst = 50 * time.Millisecond
	// guestLeast and guestMost bound the pause between two reads of a VM that waits. It is a part of how long the VM has waited: who waits for a guest that takes
	// a minute to boot does not mind 15 seconds.
	guestLeast = time.Second
	guestMost  = time.Minute
	guestPart  = 4
)

// guestValues are what guests have written for the groups that ask. Nothing but a read tells when a guest writes: the change version of its VM may stay as
// it is. So a VM is read until it says what its group waits for, and then no more in this life of it. The zero value is ready to use.
type guestValues struct {
	mu  sync.Mutex
	vms map[vsphere.Ref]*guestValue
}

type guestValue struct {
	group vsphere.GroupKey
	query vsphere.GuestInfoQuery
	// boot is the life of the VM that the rest is about.
	boot  time.Time
	value string
	known bool
	// since is when somebody began to wait, read when the VM was read last.
	since, read time.Time
	// told is what else the guest has told. When that changes it is worth a look.
	told toldByTools
	look bool
}

type toldByTools struct {
	running, heartbeat bool
	ip                 string
}

// over reports whether the guest has written what the group waits for.
func (v *guestValue) over() bool {
	return v.known && (v.value == v.query.Value || v.query.Value == "" && v.value != "")
}

// due is when the VM is to be read.
func (v *guestValue) due() time.Time {
	switch {
	case v.read.IsZero():
		return v.since.Add(guestFirst)
	case v.look:
		return v.read.Add(guestLeast)
	}
	return v.read.Add(min(max(v.read.Sub(v.since)/guestPart, guestLeast), guestMost))
}

// observe adds to VMs of a group what is known of their guests. It reports whether there is something to read that was not before.
func (g *guestValues) observe(now time.Time, q vsphere.Query, vms []vsphere.VM) (news bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if q.GuestInfo.Key == "" || vsphere.CheckGuestInfoKey(q.GuestInfo.Key) != nil {
		for i := range vms {
			if v := g.vms[vms[i].Ref]; v != nil && v.group == q.ID.Key() {
				delete(g.vms, vms[i].Ref)
			}
		}
		return false
	}
	for i := range vms {
		vm := &vms[i]
		switch {
		case vm.Stamp == nil || vm.Stamp.GroupID != q.ID || vm.Tombstone || vm.Power == vsphere.PoweredOff:
			delete(g.vms, vm.Ref)
			vm.GuestInfoKnown = vm.Power == vsphere.PoweredOff
		case vm.Power == vsphere.PoweredOn:
			v := g.of(now, q, *vm)
			if told := (toldByTools{vm.ToolsRunning, vm.HeartbeatGreen, vm.GuestIP}); told != v.told {
				v.told, v.look = told, true
			}
			news = news || !v.over() && (v.look || v.read.IsZero())
			vm.GuestInfo, vm.GuestInfoKnown = v.value, v.known
		}
	}
	return news
}

// of returns what is known of a VM that is on, in this life of it and of this key. The lock is held.
func (g *guestValues) of(now time.Time, q vsphere.Query, vm vsphere.VM) *guestValue {
	v := g.vms[vm.Ref]
	if v == nil || v.query.Key != q.GuestInfo.Key || v.boot != vm.BootTime {
		v = &guestValue{boot: vm.BootTime, since: now, told: toldByTools{vm.ToolsRunning, vm.HeartbeatGreen, vm.GuestIP}}
		if g.vms == nil {
			g.vms = map[vsphere.Ref]*guestValue{}
		}
		g.vms[vm.Ref] = v
	}
	if v.query != q.GuestInfo {
		v.query, v.since, v.look = q.GuestInfo, now, true
	}
	v.group = q.ID.Key()
	return v
}

// next is how long until a VM is to be read, or false if none is.
func (g *guestValues) next(now time.Time) (in time.Duration, waits bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.vms {
		if left := max(0, v.due().Sub(now)); !v.over() && (!waits || left < in) {
			in, waits = left, true
		}
	}
	return in, waits
}

// take returns the VMs that are to be read now, or nearly so, by key. Those that are not to be kept are forgotten.
func (g *guestValues) take(now time.Time, keep func(vsphere.Ref, vsphere.GroupKey) bool) map[string][]vsphere.Ref {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[string][]vsphere.Ref{}
	for ref, v := range g.vms {
		switch {
		case !keep(ref, v.group):
			delete(g.vms, ref)
		case !v.over() && v.due().Sub(now) < guestLeast:
			out[v.query.Key] = append(out[v.query.Key], ref)
			v.read, v.look = now, false
		}
	}
	for _, refs := range out {
		slices.SortFunc(refs, func(a, b vsphere.Ref) int { return strings.Compare(a.Value, b.Value) })
	}
	return out
}

// found records what was read of a VM's key in a life of the VM. It returns the group for which that is news, or nothing.
func (g *guestValues) found(ref vsphere.Ref, boot time.Time, key, value string) vsphere.GroupKey {
	if len(value) > vsphere.LongestGuestInfo {
		value = strings.Clone(value[:vsphere.LongestGuestInfo]) // a part keeps all of it in memory
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	v := g.vms[ref]
	if v == nil || v.query.Key != key || v.boot != boot || v.known && v.value == value {
		return ""
	}
	v.value, v.known = value, true
	return v.group
}

// reread has what is waited for read anew, after there was no connection: what was read before is old, and nobody shall take it for what the guest says now.
func (g *guestValues) reread() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.vms {
		if !v.over() {
			v.value, v.known, v.read = "", false, time.Time{}
		}
	}
}

// forget drops what is remembered of a group.
func (g *guestValues) forget(group vsphere.GroupKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for ref, v := range g.vms {
		if v.group == group {
			delete(g.vms, ref)
		}
	}
}
