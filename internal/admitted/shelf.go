package admitted

import (
	"cmp"
	"slices"
)

// shelf has the pages of one member. The lock of Records guards it.
type shelf struct {
	// pages in the order of their numbers.
	pages []*page
	// homes are the pages with a record, by the name of its key. There are two only while a record moves, or if an owner had not yet observed the
	// page of its predecessor.
	homes map[string][]*page
	// size is the sum of all pages.
	size int
}

// replace exchanges one version of a page for another; nil stands for a page that does not exist.
func (s *shelf) replace(old, next *page) {
	if old != nil {
		at, _ := s.at(old.number)
		s.pages = slices.Delete(s.pages, at, at+1)
		s.size -= old.size
		for name := range old.records {
			if s.homes[name] = slices.DeleteFunc(s.homes[name], func(p *page) bool { return p == old }); len(s.homes[name]) == 0 {
				delete(s.homes, name)
			}
		}
	}
	if next != nil {
		at, _ := s.at(next.number)
		s.pages = slices.Insert(s.pages, at, next)
		s.size += next.size
		for name := range next.records {
			s.homes[name] = append(s.homes[name], next)
		}
	}
}

// at returns the position of a page with this number, or the position where it would be.
func (s *shelf) at(number int) (int, bool) {
	return slices.BinarySearchFunc(s.pages, number, func(p *page, n int) int { return cmp.Compare(p.number, n) })
}

// newest returns the record that counts, and its page: the record with the latest epoch, and within one epoch the one written last.
func (s *shelf) newest(name string) (newest record, home *page) {
	for _, p := range s.homes[name] {
		if r := p.records[name]; home == nil || newest.before(r) {
			newest, home = r, p
		}
	}
	return newest, home
}

// unreadable returns why a page of the member cannot be read, or nil.
func (s *shelf) unreadable() error {
	for _, p := range s.pages {
		if p.err != nil {
			return p.err
		}
	}
	return nil
}
