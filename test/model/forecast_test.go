package model

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/webhook/forecast"
)

// foretoldEdits are the edits of which a forecast counts the effects on VMs.
var foretoldEdits = []string{
	"scale", "scale-by-one", "template", "template-and-scale", "size", "size-and-scale", "root-disk", "network", "replace-all", "delete-first-and-shrink", "power", "undo",
}

// handlingEdits decide how the effects are reached.
var handlingEdits = []string{"budget", "pause-update", "update-type", "resize", "order", "retain", "user-data"}

// foretoldCases is the number of edits. The rarest effect, a power-on, is that of one edit in 150.
const foretoldCases = 800

// TestAForecastEqualsWhatThenHappens makes random edits of a group at rest, and lets the operator work until it has no more to do.
func TestAForecastEqualsWhatThenHappens(t *testing.T) {
	counted := inquiry.Plan{}
	for seed := range uint64(foretoldCases) {
		story, want, got := foretell(seed)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: %s: the forecast is %+v, and then %+v happens", seed, story, want, got)
		}
		counted.Adds += min(want.Adds, 1)
		counted.Removes += min(want.Removes, 1)
		counted.Replaces += min(want.Replaces, 1)
		counted.Restarts += min(want.Restarts, 1)
		counted.Resizes += min(want.Resizes, 1)
		counted.Grows += min(want.Grows, 1)
		counted.Connects += min(want.Connects, 1)
		counted.PowersOff += min(want.PowersOff, 1)
		counted.PowersOn += min(want.PowersOn, 1)
	}
	for name, n := range map[string]int{
		"adds": counted.Adds, "removes": counted.Removes, "replaces": counted.Replaces, "restarts": counted.Restarts, "resizes": counted.Resizes, "grows": counted.Grows, "connects": counted.Connects,
		"powers off": counted.PowersOff, "powers on": counted.PowersOn,
	} {
		if n < 3 {
			t.Errorf("only %d edits have a forecast that %s VMs", n, name)
		}
	}
}

// foretell makes an edit. It returns the counts of its forecast, and those of what happens.
func foretell(seed uint64) (story string, want, got inquiry.Plan) {
	r := rand.New(rand.NewPCG(seed, 51))
	budget := budgets[r.IntN(len(budgets))]
	w := newWorld(Setup{Replicas: r.IntN(6), Surge: budget[0], Unavailable: budget[1], Gate: v1alpha1.GatePoweredOn, Old: r.IntN(2) == 0})
	w.log = nil
	for range r.IntN(3) { // the group has a history
		kind := foretoldEdits[r.IntN(len(foretoldEdits))]
		if r.IntN(4) == 0 {
			kind = "power"
		}
		kinds[kind](w, r.IntN(64))
		w.advance(2 * time.Hour)
		w.backup()
	}
	w.advance(2 * time.Hour)
	before, old := w.machines(), w.api.group.DeepCopy()
	for range r.IntN(3) {
		story += kinds[handlingEdits[r.IntN(len(handlingEdits))]](w, r.IntN(64)) + ", "
	}
	story += kinds[foretoldEdits[r.IntN(len(foretoldEdits))]](w, r.IntN(64))
	story = fmt.Sprintf("%d VMs of %s, %s", len(before), old.Spec.Template, story)
	want = forecast.Of(old, w.api.group, w.op.gather().Preview())
	want = inquiry.Plan{
		Adds: want.Adds, Removes: want.Removes, Removed: want.Removed, PowersOff: want.PowersOff, PowersOn: want.PowersOn, Replaces: want.Replaces, Restarts: want.Restarts,
		Resizes: want.Resizes, Grows: want.Grows, Connects: want.Connects,
	}
	if want.Replaces > 0 {
		want.Removed = nil
	}
	w.advance(6 * time.Hour)
	return story, want, happened(before, w.machines())
}

// machines returns copies of the group's VMs.
func (w *world) machines() map[string]machine {
	all := map[string]machine{}
	for _, m := range w.vc.living() {
		all[m.ref] = *m
	}
	return all
}

// happened counts what became of VMs. A VM that is replaced can have another ordinal: that of a VM above spec.replicas during the update.
func happened(before, after map[string]machine) (p inquiry.Plan) {
	come, gone := 0, 0
	for ref, is := range after {
		was, existed := before[ref]
		switch {
		case !existed:
			come++
			continue
		case is.cpu == was.cpu && is.memory == was.memory:
		case was.power == vsphere.PoweredOn && is.onAt.Equal(was.onAt), was.power != vsphere.PoweredOn:
			p.Resizes++
		default:
			p.Restarts++
		}
		if is.rootGiB != was.rootGiB && is.cpu == was.cpu && is.memory == was.memory {
			p.Grows++
		}
		if is.network != was.network && is.cpu == was.cpu && is.memory == was.memory {
			p.Connects++
		}
		if is.power != was.power && is.power == vsphere.PoweredOn {
			p.PowersOn++
		} else if is.power != was.power {
			p.PowersOff++
		}
	}
	for ref, was := range before {
		if _, stays := after[ref]; !stays {
			gone++
			p.Removed = append(p.Removed, was.name)
		}
	}
	p.Replaces = min(come, gone)
	p.Adds, p.Removes = come-p.Replaces, gone-p.Replaces
	if p.Replaces > 0 { // which VM makes room for which is not known
		p.Removed = nil
	}
	slices.Sort(p.Removed)
	return p
}
