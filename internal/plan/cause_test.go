package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// The audit line and a metric contain the cause of a VM's destruction. A scale-down during an
// update removes as many VMs as it subtracted from spec.replicas.
func TestARemovalNamesWhatCausedIt(t *testing.T) {
	older := func(vm *vsphere.VM) { s := *vm.Stamp; s.Revision = replaced.Revision; vm.Stamp = &s }
	last := func(vm *vsphere.VM) { marked(vm); vm.Power = vsphere.PoweredOff }
	// group wants some VMs, and has new ones, older ones, older ones about to be destroyed, and
	// older ones chosen to leave.
	group := func(wanted int32, newer, old, destroyed, chosen int, options ...option) Input {
		in := input(wanted, options...)
		in.Shapes = []Shape{{Recorded: replaced}}
		in.Rollout = &Rollout{Revision: revision, From: []string{replaced.Revision}, Start: epoch}
		for i, edits := range map[int][]func(*vsphere.VM){0: nil, 1: {older}, 2: {older}, 3: {older, last}} {
			for n := range []int{newer, old, chosen, destroyed}[i] {
				ordinal := int32(10*i + n)
				if has(makeVM(ordinal, edits...))(&in); i == 2 {
					doomed(ordinal)(&in)
				}
			}
		}
		return in
	}
	update := func(u v1alpha1.UpdateStrategy) option {
		return func(in *Input) { in.Spec.UpdateStrategy = &u }
	}
	earlier := func(in *Input) { // the VMs leave because of an earlier edit
		in.Rollout.From = append(in.Rollout.From, "1-between")
		for i := range in.Observation.VMs {
			if vm := &in.Observation.VMs[i]; vm.Tombstone {
				vm.Stamp.Revision = "1-between"
			}
		}
	}
	stop := func(in *Input) { in.Rollout.Failed = []string{"another-vm"} }
	edited := func(in Input, edit func(*Input)) Input { edit(&in); return in }
	for story, c := range map[string]struct {
		in                Input
		scaled, exchanged int
	}{
		"one more came first":                            {group(3, 1, 2, 1, 0), 0, 1},
		"the last one":                                   {group(3, 3, 0, 1, 0), 0, 1},
		"one less first":                                 {group(3, 0, 2, 1, 0, update(v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)})), 0, 1},
		"two more came first":                            {group(4, 2, 2, 2, 0, update(v1alpha1.UpdateStrategy{MaxSurge: number(2)})), 0, 2},
		"fewer are wanted before a new one came":         {group(3, 0, 3, 2, 0), 2, 0},
		"fewer are wanted while some are replaced":       {group(3, 1, 2, 3, 0), 2, 1},
		"one that leaves, too, is not that far":          {group(3, 1, 2, 1, 2), 1, 0},
		"another is being destroyed for that":            {edited(group(3, 1, 2, 2, 0), running(vsphere.OpDestroy, 31, time.Second)), 0, 1},
		"another was, and is not seen any more":          {edited(group(3, 1, 2, 1, 0, knows(Known{Ordinal: 40, MoRef: "vm-40", Revision: replaced.Revision})), doomed(40)), 0, 1},
		"none is wanted":                                 {group(0, 0, 0, 3, 0), 3, 0},
		"one that an edit before had added":              {edited(group(3, 0, 3, 1, 0), earlier), 0, 1},
		"the update is paused":                           {group(3, 1, 2, 1, 0, update(v1alpha1.UpdateStrategy{Paused: true})), 1, 0},
		"people replace":                                 {group(3, 1, 2, 1, 0, update(v1alpha1.UpdateStrategy{Type: v1alpha1.UpdateOnDelete})), 1, 0},
		"the update was stopped":                         {edited(group(3, 1, 2, 1, 0), stop), 1, 0},
		"no update is under way, and an older VM leaves": {edited(group(3, 1, 2, 1, 0), func(in *Input) { in.Rollout.From = nil }), 1, 0},
	} {
		count := map[RemovalCause]int{}
		for _, a := range Compute(c.in).Actions {
			if a.Kind == DestroyVM {
				count[a.Removal]++
			}
		}
		if count[RemovedByScaleDown] != c.scaled || count[RemovedByReplacement] != c.exchanged {
			t.Errorf("%s: the causes are %s, want %d and %d", story, fmt.Sprint(count), c.scaled, c.exchanged)
		}
	}
}
