package quota

// batch is the work for one write.
type batch struct {
	claims []Claim
	lowers map[Key]giveBack
}

func (w batch) empty() bool { return len(w.claims)+len(w.lowers) == 0 }

// next takes all waiting work.
func (b *book) next() batch {
	work := batch{claims: b.claims, lowers: b.lowers}
	b.claims, b.lowers = nil, map[Key]giveBack{}
	for id, g := range work.lowers {
		b.flying[id] = g.to
	}
	for _, c := range work.claims {
		b.flying[c.Key()] = c.Wants
	}
	return work
}
