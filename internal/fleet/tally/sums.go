package tally

import (
	"slices"
	"sort"
	"time"
)

// Ages are the times by which groups that are not ready are counted, the shortest first.
var Ages = [...]time.Duration{15 * time.Minute, time.Hour}

// Sum has the sums of one cell over buckets.
type Sum struct {
	Total
	// LongerThan counts the groups that have not been ready for longer than each of Ages.
	LongerThan [len(Ages)]int
}

// Sums returns the sums of these buckets by cell. The lists of groups are empty.
func (b *Book) Sums(buckets []int, now time.Time) map[Cell]*Sum {
	sums := map[Cell]*Sum{}
	for _, number := range buckets {
		b.read(number, func(cell Cell, t *Total) {
			s := sums[cell]
			if s == nil {
				s = &Sum{Total: Total{Reasons: map[string]int{}}}
				sums[cell] = s
			}
			s.add(t)
			for i, age := range Ages {
				since := now.Add(-age)
				s.LongerThan[i] += sort.Search(len(t.NotReady), func(j int) bool { return !t.NotReady[j].Since.Before(since) })
			}
		})
	}
	return sums
}

// MostWorst is how many groups a Summary lists.
const MostWorst = 10

// Summary has the sums of the groups of a member, or of a VCenter.
type Summary struct {
	Ready, Desired, NotReady int
	// Worst are the groups that have not been ready for the longest time, the oldest first.
	Worst []NotReady
}

// Summaries returns the summaries over all buckets, by member and by vCenter.
func (b *Book) Summaries() (members, vcenters map[string]*Summary) {
	members, vcenters = map[string]*Summary{}, map[string]*Summary{}
	for _, number := range b.numbers() {
		b.read(number, func(cell Cell, t *Total) {
			summaryOf(members, cell.Member).add(t)
			summaryOf(vcenters, cell.VCenter).add(t)
		})
	}
	return members, vcenters
}

func summaryOf(all map[string]*Summary, name string) *Summary {
	if all[name] == nil {
		all[name] = &Summary{}
	}
	return all[name]
}

func (s *Summary) add(t *Total) {
	s.Ready += t.VMs[VMReady]
	s.Desired += t.Desired
	s.NotReady += len(t.NotReady)
	if oldest := t.NotReady[:min(len(t.NotReady), MostWorst)]; len(oldest) > 0 {
		s.Worst = append(s.Worst, oldest...)
		slices.SortFunc(s.Worst, compare)
		s.Worst = s.Worst[:min(len(s.Worst), MostWorst)]
	}
}
