package budget

const (
	// headroomShare is the share of slots kept for groups that hold none: one of eight.
	headroomShare = 8
	// headroomFrom is the number of slots from which at least one is kept.
	headroomFrom = 4
)

// headroom returns the number of clone slots, out of slots, that only groups without slots can use. The clones of a big group that start
// together end together. Without headroom, a group that arrives meanwhile would wait for their end.
func headroom(slots int) int {
	if slots < headroomFrom {
		return 0
	}
	return max(1, slots/headroomShare)
}

// owe selects the members that can use the headroom although their groups hold slots: another member has more slots, by more than the
// headroom. That member could otherwise take all slots, one by one, with groups that hold none, because every freed slot is headroom
// first. Those groups need not wait for it.
func (b *Budget) owe(s *snapshot) {
	s.owedOnHost = make(map[string]int, len(b.heldBy))
	for host, members := range b.heldBy {
		most := 0
		for m := range members {
			most = max(most, m.held)
		}
		_, keep := s.room(host)
		s.owed, s.owedOnHost[host] = max(s.owed, most-s.keep), most-keep
	}
}

// headroomOf returns the headroom of a budget that can use only part of the slots. demand is the number that it could use. A part as large
// as the demand needs no headroom: a new group raises the demand, and the part follows. Headroom would leave slots idle that were granted
// because of a demand.
func headroomOf(part, whole, demand int) int {
	if part < whole && demand <= part {
		return 0
	}
	return headroom(part)
}
