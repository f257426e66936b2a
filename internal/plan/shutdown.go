package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// shutdownLapses is the time after the end of a recorded shutdown when its record lapses. Such a record is outdated: status was restored, or no run took place for long. The
// guest is then asked anew: possibly it was never asked, or its VM was started since.
const shutdownLapses = 10 * time.Minute

// recordedIn is the unit of recorded times. They are rounded up, so that a guest never has less than its time.
const recordedIn = time.Second

// guests are those that were asked to shut down.
type guests struct {
	now time.Time
	// within is the time that each guest has; zero for none.
	within time.Duration
	// asked is when status recorded the request, by the managed object reference of the VM.
	asked map[string]time.Time
}

// guestsOf returns the recorded requests that have not lapsed.
func guestsOf(in *Input, spec settings) guests {
	g := guests{now: in.Now, within: spec.shutdown, asked: map[string]time.Time{}}
	for _, k := range in.Known {
		at := k.ShutdownTime
		if k.MoRef == "" || at.IsZero() || at.After(in.Now.Add(recordedIn)) || !in.Now.Before(g.end(at).Add(shutdownLapses)) {
			continue
		}
		if first, ok := g.asked[k.MoRef]; !ok || at.Before(first) {
			g.asked[k.MoRef] = at
		}
	}
	return g
}

// earliest is when the guest of a shutdown in flight was first asked, possibly by another replica.
func (g guests) earliest(op vsphere.Operation) time.Time {
	if at, ok := g.asked[op.VM.Value]; ok && at.Before(op.Since.Add(recordedIn)) {
		return at
	}
	return op.Since
}

// end is when the time of a guest ends that was asked then.
func (g guests) end(asked time.Time) time.Time { return asked.Add(g.within) }

func (g guests) overdue(asked time.Time) bool { return !g.now.Before(g.end(asked)) }

// wakeForGuests schedules runs for the end of each guest's time, and for the lapse of each record without an action.
func (p *planner) wakeForGuests() {
	for _, m := range p.table() {
		at := m.status.ShutdownTime
		if at.IsZero() || slices.ContainsFunc(p.actions, func(a Action) bool { return a.Ordinal == m.status.Ordinal }) {
			continue
		}
		p.wake(p.ops.guests.end(at).Add(shutdownLapses))
	}
	for _, op := range p.in.Observation.InFlight {
		if op.Kind == vsphere.OpShutdownGuest {
			p.wake(p.ops.guests.end(p.ops.guests.earliest(op)))
		}
	}
}

// stop plans the next step to power off a VM. If its guest can be asked, the guest is asked to shut down, and the operator waits. The guest can stop VMware Tools long before the
// VM is off. After that time, or if the guest cannot be asked, the VM is powered off.
func (p *planner) stop(m *member, why string) {
	asked, mine := p.asked(m)
	deaf := !m.vm.ToolsRunning && (asked.IsZero() || p.ops.failure(m.status.Ordinal, vsphere.OpShutdownGuest) != nil)
	off := Action{Kind: PowerOffVM}
	switch {
	case m.vm.Power != vsphere.PoweredOn:
		off.Reason = fmt.Sprintf("%s; its power state is %s, so that no guest can be asked", why, m.vm.Power)
	case p.spec.shutdown == 0:
		off.Reason = why + "; spec.shutdown.mode is Hard"
	case deaf:
		off.Reason = why + "; VMware Tools do not run"
	case !asked.IsZero() && p.ops.guests.overdue(asked):
		off.Reason = fmt.Sprintf("%s; its guest did not shut down within %s", why, p.spec.shutdown)
	default:
		p.await(m, asked, mine, why)
		return
	}
	p.try(m, off)
}

// asked returns when the guest of a VM was asked to shut down, or zero, and whether this process asked.
func (p *planner) asked(m *member) (at time.Time, mine bool) {
	at = p.ops.guests.asked[m.vm.Ref.Value]
	for _, op := range p.ops.inFlight[m.status.Ordinal] {
		if op.Kind != vsphere.OpShutdownGuest {
			continue
		}
		if first := p.ops.guests.earliest(op); at.IsZero() || first.Before(at) {
			at = first
		}
		mine = true
	}
	return at, mine
}

// wasAsked is true for a VM whose guest the operator asked to shut down. If such a VM is off, that is no change from outside.
func (p *planner) wasAsked(m *member) bool {
	at, _ := p.asked(m)
	return !at.IsZero()
}

// await asks a guest to shut down, unless this process has done so, and waits. To ask again after a takeover does no harm, because an interrupted replica possibly never asked.
// The second request does not extend the guest's time.
func (p *planner) await(m *member, asked time.Time, mine bool, why string) {
	first := asked.IsZero()
	if first {
		asked = p.in.Now.Add(recordedIn - 1).Truncate(recordedIn)
	}
	end := p.ops.guests.end(asked)
	if !mine && m.vm.ToolsRunning {
		sent := p.try(m, Action{Kind: ShutdownGuest, Within: end.Sub(p.in.Now), Reason: why})
		if first && !sent {
			return
		}
	}
	m.status.ShutdownTime = asked
	p.wake(end)
	if p.ops.failure(m.status.Ordinal, vsphere.OpShutdownGuest) == nil {
		m.status.Message = fmt.Sprintf("its guest was asked to shut down at %s and has until %s UTC; then the VM is powered off (spec.shutdown)",
			asked.UTC().Format(time.TimeOnly), end.UTC().Format(time.TimeOnly))
	}
}
