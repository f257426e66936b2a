package plan

import (
	"fmt"
	"slices"
	"strings"
)

// rank orders blockers: a blocker that stops more comes first.
type rank int

const (
	rankPaused rank = iota
	rankIncomplete
	rankInstallation
	rankAdoption
	rankSpec
	rankPolicy
	rankHeld
	rankCreate
	rankFailure
	rankLost
	rankObserved
	rankName
)

type ranked struct {
	Blocker
	rank rank
	more int
}

// blockers collects the reasons why actions are not taken.
type blockers struct{ all []ranked }

func (b *blockers) add(r rank, blocker Blocker) {
	b.all = append(b.all, ranked{Blocker: blocker, rank: r})
}

// addFailure adds a failure. Of several with one reason, the first is reported and the others are counted.
func (b *blockers) addFailure(f *failure) { b.addOnce(f, false) }

// addRemark adds a failure that blocks nothing.
func (b *blockers) addRemark(f *failure) { b.addOnce(f, true) }

func (b *blockers) addOnce(f *failure, remark bool) {
	for i := range b.all {
		if b.all[i].rank == rankFailure && b.all[i].Reason == f.reason {
			if b.all[i].more++; b.all[i].Remark && !remark { // a failure that blocks replaces a remark
				b.all[i].Message, b.all[i].Brief, b.all[i].Remark = f.message, f.brief, false
			}
			b.all[i].Terminal = b.all[i].Terminal || f.terminal
			return
		}
	}
	b.add(rankFailure, Blocker{Reason: f.reason, Message: f.message, Brief: f.brief, Terminal: f.terminal, Remark: remark})
}

// sorted returns the blockers, the most important first.
func (b *blockers) sorted() []Blocker {
	slices.SortStableFunc(b.all, func(x, y ranked) int { return int(x.rank) - int(y.rank) })
	if len(b.all) == 0 {
		return nil
	}
	out := make([]Blocker, 0, len(b.all))
	for _, r := range b.all {
		switch {
		case r.more == 1:
			r.Message += " (The same for 1 more VM.)"
		case r.more > 1:
			r.Message += fmt.Sprintf(" (The same for %d more VMs.)", r.more)
		}
		if r.more > 0 {
			r.Brief = strings.Replace(r.Brief, ":", fmt.Sprintf(" and %d more:", r.more), 1)
		}
		out = append(out, r.Blocker)
	}
	return out
}

// sentence ends a text with one full stop.
func sentence(text string) string { return strings.TrimRight(text, ".") + "." }

// listed is the number of names that a message lists.
const listed = 3

// enumerate joins names for a sentence: "a, b, c and 4 more".
func enumerate(names []string) string {
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}

// about begins a brief with its VMs: the name of the first, and the number of the others.
func about(members []*member, is, are string) string {
	name := members[0].status.Name
	if len(members) == 1 {
		return name + " " + is
	}
	return fmt.Sprintf("%s and %d more %s", name, len(members)-1, are)
}

// vms counts VMs in words.
func vms(n int) string {
	if n == 1 {
		return "1 VM"
	}
	return fmt.Sprintf("%d VMs", n)
}

// label names a VM for a person who searches for it in vCenter.
func label(m *member) string {
	if m.status.MoRef == "" {
		return m.status.Name
	}
	return fmt.Sprintf("%s (%s)", m.status.Name, m.status.MoRef)
}

// labels names the VMs of members.
func labels(members []*member) []string {
	out := make([]string, 0, len(members))
	for _, m := range members {
		out = append(out, label(m))
	}
	return out
}
