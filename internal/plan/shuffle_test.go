package plan

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// shuffled returns in with every list in another order.
func shuffled(in Input, seed uint64) Input {
	r := rand.New(rand.NewPCG(seed, seed))
	in.Known, in.Doomed, in.Listed = shuffle(r, in.Known), shuffle(r, in.Doomed), shuffle(r, in.Listed)
	if in.Rollout != nil {
		was := *in.Rollout
		was.From, was.Failed = shuffle(r, was.From), shuffle(r, was.Failed)
		in.Rollout = &was
	}
	o := &in.Observation
	o.VMs, o.Gone, o.Elsewhere = shuffle(r, o.VMs), shuffle(r, o.Gone), shuffle(r, o.Elsewhere)
	o.InFlight, o.Failures = shuffle(r, o.InFlight), shuffle(r, o.Failures)
	for i := range o.VMs {
		if s := o.VMs[i].Stamp; s != nil {
			o.VMs[i].Stamp = ptr(*s)
		}
	}
	return in
}

func shuffle[T any](r *rand.Rand, in []T) []T {
	out := slices.Clone(in)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func TestShufflingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		other := shuffled(in, rapid.Uint64().Draw(t, "seed"))
		if a, b := Compute(in), Compute(other); !reflect.DeepEqual(a, b) {
			t.Fatalf("the order of the input matters:\n%+v\n%+v", a, b)
		}
	})
}

func TestComputeDoesNotChangeItsInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t)
		before := shuffled(in, 1)
		Compute(in)
		if after := shuffled(in, 1); !reflect.DeepEqual(before, after) {
			t.Fatalf("Compute changed its input:\n%+v\n%+v", before, after)
		}
	})
}
