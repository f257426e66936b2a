package sim_test

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

func TestTheChangeVersionMovesForMoreThanReconfiguringWhereThatIsWanted(t *testing.T) {
	for _, moves := range []bool{false, true} {
		h := person(t, sim.Options{MoveChangeVersion: moves})
		key, value := sim.GuestWrites("guestinfo.ready", 0, "yes")
		must(t, h.Set(h.ctx, ordinary, map[string]string{sim.GuestBoot: "0s", key: value}))
		last := h.config(ordinary).ChangeVersion
		for _, step := range []struct {
			what string
			do   func() error
		}{
			{"power on", func() error { return h.PowerOn(h.ctx, ordinary) }},
			{"a guest writes", func() error {
				h.until("it has written", func() bool {
					info, err := h.GuestInfo(h.ctx, ordinary)
					must(t, err)
					return info["guestinfo.ready"] == "yes"
				})
				return nil
			}},
			{"snapshot", func() error { return h.Snapshot(h.ctx, ordinary) }},
			{"power off", func() error { return h.PowerOff(h.ctx, ordinary) }},
		} {
			must(t, step.do())
			now := h.config(ordinary).ChangeVersion
			if (now != last) != moves && (!moves || step.what != "a guest writes") { // which a power-on can have done already
				t.Errorf("moves %t: after %s it was %s and is %s", moves, step.what, last, now)
			}
			last = now
		}
	}
}
