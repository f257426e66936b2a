package budget

const (
	// headroomShare is the part of the slots that is kept for groups that hold none: one of eight.
	headroomShare = 8
	// headroomFrom is the number of slots from which on one is kept although it is less than the share.
	headroomFrom = 4
)

// headroom is the number of clone slots, of so many, that only groups take that hold nothing. The clones of a big
// group that were started together end together, and without it a group that comes between would wait for that.
func headroom(slots int) int {
	if slots < headroomFrom {
		return 0
	}
	return max(1, slots/headroomShare)
}

// owe says which members may take what is kept although their groups hold something: those that are behind another one that waits by more
// than the headroom. That one could take all slots otherwise, one by one, with groups that hold none: whatever comes free is headroom first.
func (b *Budget) owe(s *snapshot) {
	s.owedOnHost = make(map[string]int, len(b.heldBy))
	for host, members := range b.heldBy {
		most := 0
		for m := range members {
			if len(m.queues) > 0 {
				most = max(most, m.held)
			}
		}
		_, keep := s.room(host)
		s.owed, s.owedOnHost[host] = max(s.owed, most-s.keep), most-keep
	}
}

// headroomOf is the headroom of a budget that may use part of the slots, of which it could use so many as its demand
// says. A part that is as large as the demand needs none: who comes next raises the demand, and the part follows it. To
// keep some all the same would leave slots idle that were handed out because somebody wants them.
func headroomOf(part, whole, demand int) int {
	if part < whole && demand <= part {
		return 0
	}
	return headroom(part)
}
