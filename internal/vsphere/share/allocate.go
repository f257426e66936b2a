package share

import (
	"cmp"
	"slices"
)

// Claim is what a replica says of one limited resource.
type Claim struct {
	// Replica orders the claims, so that the result does not depend on their order; it must be unique.
	Replica string
	// Demand is the number of slots that it could use.
	Demand int
	// Using is the number of slots that it may be using now, whatever it is granted.
	Using int
}

// Targets divides a limit by demand alone: what everybody shall have once nobody uses more than that. Nobody gets more
// than its demand, and nothing is left while somebody wants more. It is max-min fair: nobody could have one more unless
// another had less who has no more than one more. Slots that are left over by the division go to the next ones with
// every turn, so that all have some in time even where there are fewer slots than replicas.
func Targets(limit int, claims []Claim, turn int) []int {
	targets := make([]int, len(claims))
	deal(limit, targets, func(i int) int { return claims[i].Demand }, order(claims, turn))
	return targets
}

// Allocate says what each claim may use now. It is the target, except that a raise comes out of what nobody may be
// using: the sum of all max(result, Using) exceeds the limit only if the sum of all Using does already, and then not by
// more. Nobody gets more than its target. Who has the least is raised first.
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

// deal gives slot after slot to who has the fewest and wants more, equals in the given order, until none is left.
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

// order is that in which equals get what is left over: by name, beginning with another one of those who want something
// every turn.
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
