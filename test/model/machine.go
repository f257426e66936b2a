package model

import (
	"slices"
	"strconv"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// machine is a VM of the world's vCenter.
type machine struct {
	ref, name, folder, uuid string
	stamp                   *vsphere.Stamp
	mark                    *vsphere.ReleaseMark
	tombstone               bool
	template, network       string
	boots                   bool
	hotAdd                  bool
	cpu                     int32
	growsTo                 int32 // the CPUs of the last requested change
	memory                  int64
	// rootGiB is the size of the root disk, sizedGiB the size that the operator gave it.
	rootGiB, sizedGiB int32
	data              vsphere.DataDisks
	power             vsphere.PowerState
	// hidden VMs are missing in the inventory. isTemplate is true for a VM that a user converted.
	hidden, isTemplate bool
	// hostAway means that its host is disconnected. backAt is the time of the host's last return.
	hostAway bool
	backAt   time.Time
	// sick means that the guest has no heartbeat and no address. healedAt is the time of its last recovery.
	sick     bool
	healedAt time.Time
	// onAt is the time of power-on, and upAt the time when its guest is up. Both are zero while it is off. rewiredAt is the time of its last change of network.
	onAt, upAt, rewiredAt time.Time
	// stubborn guests ignore a request to shut down. asked is true after a request for a shutdown or power-off since power-on.
	stubborn, asked bool
	// askedAt is the time of the request to shut down.
	askedAt time.Time
	version int
	// seenReady is the time since which the operator has seen it ready, without a gap longer than the required ready time. lookedAt is the last time when it
	// saw the VM.
	seenReady, lookedAt time.Time
	// downAt is the last time when its guest became sick or its host was disconnected.
	downAt time.Time
	// shownDown is the time of the last status that was written while the operator saw the VM not ready.
	shownDown time.Time
	// blinked means that the VM was invisible at some time since the operator's last look.
	blinked bool
	// unsized means that it became invisible while status did not describe its revision, as for a VM of another group. So its size is unknown.
	unsized bool
	// unrecorded means that a restored status does not contain the VM.
	unrecorded bool
	// strayed means that a status was restored while the VM was adopted. That status can give its ordinal to another VM.
	strayed bool
	// copied means that the last status before a deletion of the group listed it as a copy.
	copied bool
	// disk is true while it has a disk of another owner. snapshot is true while it has a snapshot, so that its own disk cannot grow.
	disk, snapshot bool
}

// owned reports whether the VM has the group's stamp.
func (m *machine) owned() bool {
	return m.stamp != nil && m.stamp.Group == groupUID && m.folder != ""
}

// unnoticed reports whether the operator cannot know that the VM was down: it became invisible before that, and keeps its readiness.
func (m *machine) unnoticed() bool {
	return (m.hidden || m.folder == elsewhere) && m.shownDown.Before(m.downAt)
}

// up reports whether the guest of a VM runs, as far as its host knows.
func (m *machine) up(now time.Time) bool {
	return m.power == vsphere.PoweredOn && !m.upAt.IsZero() && !m.upAt.After(now)
}

// healthy reports whether the guest shows a heartbeat and an address.
func (m *machine) healthy(now time.Time) bool { return m.up(now) && !m.sick }

// touched changes the VM's change version.
func (m *machine) touched() { m.version++ }

// setPower changes the power state and the dependent state.
func (m *machine) setPower(w *world, power vsphere.PowerState) {
	was := m.power
	m.power = power
	switch {
	case power == vsphere.PoweredOff:
		m.onAt, m.upAt = time.Time{}, time.Time{}
		for _, t := range slices.Clone(w.vc.tasks) {
			if t.op.Kind == vsphere.OpShutdownGuest && t.op.VM.Value == m.ref {
				w.vc.end(t, nil)
			}
		}
	case power == vsphere.PoweredOn && was != vsphere.PoweredOn:
		m.onAt, m.asked = w.now, false
		if m.boots {
			m.upAt = w.now.Add(w.vc.pace.boot)
			w.agenda.add(m.upAt, w.vc.changed)
		}
	}
	w.vc.changed()
}

// shown returns the VM as in the inventory.
func (m *machine) shown(now time.Time) vsphere.VM {
	vm := vsphere.VM{
		Ref: vsphere.VMRef(m.ref), Name: m.name, Folder: vsphere.FolderRef(m.folder), InstanceUUID: m.uuid, Power: m.power, Connection: m.connection(),
		CPU: m.cpu, MemoryMiB: m.memory, RootDiskGiB: m.sizedGiB, DataDisks: m.data, HotAdd: vsphere.HotAdd{CPU: m.hotAdd, Memory: m.hotAdd}, IsTemplate: m.isTemplate,
		ChangeVersion: strconv.Itoa(m.version), Tombstone: m.tombstone,
	}
	if m.power == vsphere.PoweredOn {
		vm.BootTime = m.onAt
	}
	if m.up(now) {
		vm.ToolsRunning = true
		if !m.sick {
			vm.HeartbeatGreen, vm.GuestIP = true, "10.0.0."+strconv.Itoa(m.version%250+1)
		}
	}
	if m.stamp != nil {
		stamp := *m.stamp
		vm.Stamp = &stamp
	} else if m.mark != nil {
		mark := *m.mark
		vm.Released = &mark
	}
	return vm
}

// readySince returns since when the VM passes a readiness gate without a break, or false.
func (m *machine) readySince(now time.Time, gate v1alpha1.ReadinessGate) (time.Time, bool) {
	if m.power != vsphere.PoweredOn || m.hostAway || m.hidden || m.isTemplate || m.tombstone {
		return time.Time{}, false
	}
	since := maxTime(maxTime(m.onAt, m.backAt), m.rewiredAt)
	if gate == v1alpha1.GateGuestHeartbeat || gate == v1alpha1.GateGuestIP {
		if !m.healthy(now) {
			return time.Time{}, false
		}
		since = maxTime(maxTime(since, m.upAt), m.healedAt)
	}
	return since, true
}

// look records a pass's observation of the VM: whether it is ready by the spec's readiness.
func (m *machine) look(now time.Time, spec *v1alpha1.VmGroupSpec) {
	gate, least := readinessOf(spec)
	since, ready := m.readySince(now, gate)
	switch {
	case !ready, spec.PowerState == v1alpha1.PoweredOff: // the operator waits again once the VM is wanted on
		m.seenReady = time.Time{}
	case m.seenReady.IsZero() || m.seenReady.Before(since) || now.Sub(m.lookedAt) > least && m.blinked:
		m.seenReady = now
	}
	m.lookedAt, m.blinked = now, false
}

// readinessOf returns the gate of a spec, and how long a VM must pass it.
func readinessOf(spec *v1alpha1.VmGroupSpec) (v1alpha1.ReadinessGate, time.Duration) {
	if r := spec.Readiness; r != nil {
		return r.Gate, time.Duration(r.MinReadySeconds) * time.Second
	}
	return v1alpha1.GatePoweredOn, 0
}

// surelyAvailable reports whether the VM is available, and the operator has seen that for long enough.
func (m *machine) surelyAvailable(now time.Time, spec *v1alpha1.VmGroupSpec) bool {
	_, least := readinessOf(spec)
	return m.available(now, spec) && (spec.PowerState == v1alpha1.PoweredOff || !m.seenReady.IsZero() && now.Sub(m.seenReady) >= least)
}

// available reports whether the VM has been ready for long enough by the spec's readiness.
func (m *machine) available(now time.Time, spec *v1alpha1.VmGroupSpec) bool {
	if spec.PowerState == v1alpha1.PoweredOff {
		return m.power == vsphere.PoweredOff && !m.hostAway && !m.hidden && !m.tombstone && !m.isTemplate
	}
	gate, least := readinessOf(spec)
	since, ready := m.readySince(now, gate)
	return ready && !m.mayFollow(now, spec) && now.Sub(since) >= least
}

// mayFollow reports whether the guest can still follow a request to shut down. The timeout in the current spec applies, even if it was different at the
// request.
func (m *machine) mayFollow(now time.Time, spec *v1alpha1.VmGroupSpec) bool {
	return m.asked && now.Sub(m.askedAt) < shutdownOf(spec)
}

// connection returns the state of the VM's host in vCenter.
func (m *machine) connection() vsphere.Connection {
	if m.hostAway {
		return vsphere.Disconnected
	}
	return vsphere.Connected
}
