package govmomi

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// guestFirst is the delay of the first read after a power-on. It lets several VMs share a read.
	guestFirst = 50 * time.Millisecond
	// guestLeast and guestMost limit the pause between two reads of a waiting VM. The pause is a fraction of the time that the VM has waited: for a guest that
	// boots in a minute, a delay of 15 seconds is acceptable.
	guestLeast = time.Second
	guestMost  = time.Minute
	guestPart  = 4
)

// guestValues are the values that guests wrote for groups with a query. Only a read detects a guest's write: the VM's change version can stay the same. So a
// VM is read until its value is the one its group waits for, and then not again until the next power-on. The zero value is ready to use.
type guestValues struct {
	mu  sync.Mutex
	vms map[vsphere.Ref]*guestValue
}

type guestValue struct {
	group vsphere.GroupKey
	query vsphere.GuestInfoQuery
	// boot is the boot time of the VM that the other fields belong to.
	boot  time.Time
	value string
	known bool
	// since is the start of the wait, and read the time of the VM's last read.
	since, read time.Time
	// told is what VMware Tools reported about the guest. If it changes, look requests an early read.
	told toldByTools
	look bool
}

type toldByTools struct {
	running, heartbeat bool
	ip                 string
}

// over reports whether the guest has written the value that the group waits for.
func (v *guestValue) over() bool {
	return v.known && (v.value == v.query.Value || v.query.Value == "" && v.value != "")
}

// due returns the time of the VM's next read.
func (v *guestValue) due() time.Time {
	switch {
	case v.read.IsZero():
		return v.since.Add(guestFirst)
	case v.look:
		return v.read.Add(guestLeast)
	}
	return v.read.Add(min(max(v.read.Sub(v.since)/guestPart, guestLeast), guestMost))
}

// observe adds the known guest values to VMs of a group. It reports whether there is a new reason to read.
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

// of returns the entry of a running VM for its current boot and the queried key. The caller holds the lock.
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

// next returns the time until the next read, or false if no VM waits.
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

// take returns the VMs that are due now or within guestLeast, by key. It forgets VMs for which keep returns false.
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

// found records the value that was read of a VM's key at a boot. It returns the group for which the value is new, or "".
func (g *guestValues) found(ref vsphere.Ref, boot time.Time, key, value string) vsphere.GroupKey {
	if len(value) > vsphere.LongestGuestInfo {
		value = strings.Clone(value[:vsphere.LongestGuestInfo]) // a substring would keep the whole value in memory
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

// reread discards the values that groups still wait for, after a lost connection. The values are old, and must not appear as the guest's current ones.
func (g *guestValues) reread() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, v := range g.vms {
		if !v.over() {
			v.value, v.known, v.read = "", false, time.Time{}
		}
	}
}

// forget drops the values of a group.
func (g *guestValues) forget(group vsphere.GroupKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for ref, v := range g.vms {
		if v.group == group {
			delete(g.vms, ref)
		}
	}
}
