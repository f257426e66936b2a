package share

import (
	"cmp"
	"slices"
)

// Claim is a replica's claim on one limited resource.
type Claim struct {
	// Replica orders the claims, so that the result does not depend on their order. It must be unique.
	Replica string
	// Demand is the number of slots that the replica could use.
	Demand int
	// Using is the number of slots that the replica can be using now, whatever its grant.
	Using int
}

// Targets divides a limit by demand alone. The targets apply when no replica uses more than its target. No replica gets
// more than its demand, and no slot is left while a replica wants more. The division is max-min fair: a replica can
// gain a slot only if another replica with at most one slot more loses one. Slots that are left over by the division
// move to the next replicas with every turn. Thus all get some in time, even with fewer slots than replicas.
func Targets(limit int, claims []Claim, turn int) []int {
	targets := make([]int, len(claims))
	deal(limit, targets, func(i int) int { return claims[i].Demand }, order(claims, turn))
	return targets
}

// Allocate returns what each claim can use now: its target, but raises come only from slots that no replica can be
// using. The sum of all max(result, Using) exceeds the limit only if the sum of all Using already does, and then by no
// more. No replica gets more than its target. The replica with the fewest slots is raised first.
func Allocate(limit int, claims []Claim, turn int) []int {
	targets := Targets(limit, claims, turn)
	free := limit
	now := make([]int, len(claims))
	for i, c := range claims {
		using := max(0, c.Using)
		free -= using
		now[i] = min(targets[i], using)
	}
	deal(free, now, func(i int) int { return targets[i] }, order(claims, turn))
	return now
}

// deal gives each slot to the claim that has the fewest and wants more, until none is left. Equal claims follow the
// given order.
func deal(slots int, have []int, want func(i int) int, order []int) {
	wanting := slices.Clone(order)
	for slots > 0 {
		wanting = slices.DeleteFunc(wanting, func(i int) bool { return have[i] >= want(i) })
		if len(wanting) == 0 {
			return
		}
		next := slices.MinFunc(wanting, func(i, j int) int { return cmp.Compare(have[i], have[j]) }) // the first of equals
		have[next]++
		slots--
	}
}

// order is the order in which equal claims get leftover slots: by name, with another first claim every turn. It
// contains only claims with a demand.
func order(claims []Claim, turn int) []int {
	var wanting []int
	for i, c := range claims {
		if c.Demand > 0 {
			wanting = append(wanting, i)
		}
	}
	slices.SortFunc(wanting, func(i, j int) int { return cmp.Compare(claims[i].Replica, claims[j].Replica) })
	if len(wanting) == 0 {
		return nil
	}
	first := turn % len(wanting)
	if first < 0 {
		first += len(wanting)
	}
	return append(wanting[first:len(wanting):len(wanting)], wanting[:first]...)
}
