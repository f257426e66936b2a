package plan

import (
	"fmt"
	"slices"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// shutdownLapses is after how much more than its time a recorded shutdown is from another time: status was restored, or nobody looked for
// long. The guest is asked anew then: it may never have been, or its VM was started since.
const shutdownLapses = 10 * time.Minute

// recordedIn is what a recorded time is a multiple of. It is rounded up, so that a guest never has less than its time.
const recordedIn = time.Second

// guests are those that were asked to shut down.
type guests struct {
	now time.Time
	// within is how long each may take; zero for no time at all.
	within time.Duration
	// asked is when status recorded it, by the managed object reference of the VM.
	asked map[string]time.Time
}

// guestsOf has what status recorded, as far as it is of this time.
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

// earliest is when the guest of a shutdown in flight was asked first: perhaps by another replica.
func (g guests) earliest(op vsphere.Operation) time.Time {
	if at, ok := g.asked[op.VM.Value]; ok && at.Before(op.Since.Add(recordedIn)) {
		return at
	}
	return op.Since
}

// end is when a guest that was asked then has had its time.
func (g guests) end(asked time.Time) time.Time { return asked.Add(g.within) }

func (g guests) overdue(asked time.Time) bool { return !g.now.Before(g.end(asked)) }

// wakeForGuests asks to be run again when guests have had their time, and when the record of one that nothing is done to lapses.
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

// stop brings a VM nearer to being off. A guest that can be asked is asked to shut down, and waited for; it may stop VMware Tools long before
// the VM is off. Then, and where the guest cannot be asked, the plug is pulled.
func (p *planner) stop(m *member, why string) {
	asked, mine := p.asked(m)
	deaf := !m.vm.ToolsRunning && (asked.IsZero() || p.ops.failure(m.status.Ordinal, vsphere.OpShutdownGuest) != nil)
	off := Action{Kind: PowerOffVM}
	switch {
	case m.vm.Power != vsphere.PoweredOn:
		off.Reason = fmt.Sprintf("%s and its power state is %s, so that no guest can be asked", why, m.vm.Power)
	case p.spec.shutdown == 0:
		off.Reason = why + " and spec.shutdown.mode is Hard"
	case deaf:
		off.Reason = why + " and VMware Tools do not run"
	case !asked.IsZero() && p.ops.guests.overdue(asked):
		off.Reason = fmt.Sprintf("%s and the guest did not shut down within %s", why, p.spec.shutdown)
	default:
		p.await(m, asked, mine, why)
		return
	}
	p.try(m, off)
}

// asked is when the guest of a VM was asked to shut down, or zero, and whether this process did.
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

// wasAsked is true for a VM whose guest the operator asked to shut down. That such a VM is off is no change from outside.
func (p *planner) wasAsked(m *member) bool {
	at, _ := p.asked(m)
	return !at.IsZero()
}

// await asks a guest to shut down, unless this process has done so, and waits. To ask again after a takeover does no harm, and who was
// interrupted may not have asked. The time that the guest has is not made longer by that.
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
