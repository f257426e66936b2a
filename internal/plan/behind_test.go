package plan

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestOnlyAGroupThatLacksNothingIsBehindOthers(t *testing.T) {
	updates := func(strategy *v1alpha1.UpdateStrategy) option {
		return func(in *Input) {
			in.Rollout = &Rollout{Revision: revision, From: []string{"1-old"}, Start: epoch}
			in.Spec.UpdateStrategy = strategy
		}
	}
	old := func(ordinals ...int32) option {
		return func(in *Input) {
			for _, o := range ordinals {
				has(makeVM(o, outdated))(in)
			}
		}
	}
	oneLess := &v1alpha1.UpdateStrategy{MaxSurge: number(0), MaxUnavailable: number(1)}
	for story, c := range map[string]struct {
		in   Input
		want bool
	}{
		"all VMs are there, and older":      {input(3, updates(nil), old(0, 1, 2)), true},
		"one may be missing":                {input(3, updates(oneLess), old(0, 1)), true},
		"one may be missing, and two are":   {input(3, updates(oneLess), old(0)), false},
		"one is missing":                    {input(3, updates(nil), old(0, 1)), false},
		"it is paused":                      {input(3, updates(&v1alpha1.UpdateStrategy{Paused: true}), old(0, 1, 2)), false},
		"nothing is updated, and it grows":  {input(3, healthy(0, 1)), false},
		"a new group":                       {input(3), false},
		"it grows in the middle of an edit": {input(5, updates(nil), old(0, 1, 2)), false},
	} {
		if p := Compute(c.in); p.Behind != c.want {
			t.Errorf("%s: %t, actions are %s", story, p.Behind, actionsOf(p))
		}
	}
}
