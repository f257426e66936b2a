package admitted

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// change is the change of one record: an entry, or nil to remove it, with the writes that it answers.
type change struct {
	name   string
	entry  *Entry
	writes []*write
	// bytes is the number of bytes that are or will be written for it.
	bytes int
	// from are the pages that the record is removed from once it is written elsewhere.
	from []int
	err  error
}

// plan assigns changes to pages.
type plan struct {
	shelf *shelf
	pages map[int]*patch
	// sizes are the sizes of the changed pages after the change. growth is the growth of all pages together.
	sizes  map[int]int
	growth int
}

// patch is the change of one page.
type patch struct {
	// version, if not empty, is the only version of the page that can be changed.
	version string
	// values by key; nil removes a key.
	values map[string]*string
	// puts are the changes that are written with it.
	puts []*change
}

// newPlan plans changes of different records. Changes without room get an error.
//
// A record stays on its page while the page is small enough, and moves otherwise. A new record goes to a page with room. Replicas that search for
// room at the same time start at different pages, so that they seldom fill the same page.
func newPlan(s *shelf, changes []*change) *plan {
	p := &plan{shelf: s, pages: map[int]*patch{}, sizes: map[int]int{}}
	for _, c := range changes {
		if c.entry == nil {
			p.drop(c)
		} else {
			c.err = p.put(c)
		}
	}
	return p
}

func (p *plan) page(number int) *patch {
	if p.pages[number] == nil {
		p.pages[number] = &patch{values: map[string]*string{}}
	}
	return p.pages[number]
}

func (p *plan) drop(c *change) {
	for _, home := range p.shelf.homes[c.name] {
		p.page(home.number).values[c.name] = nil
		p.resize(home.number, -home.records[c.name].size)
	}
}

func (p *plan) put(c *change) error {
	last, home := p.shelf.newest(c.name)
	text, err := encode(*c.entry, last.turn+1)
	if err != nil {
		return err
	}
	size := len(c.name) + len(text)
	if size > last.size && p.shelf.size+p.growth+size-last.size > memberSize {
		return ErrFull
	}
	number, ok := p.room(c.name, size, home)
	if !ok {
		return ErrFull
	}
	for _, other := range p.shelf.homes[c.name] {
		if other.number != number {
			c.from = append(c.from, other.number)
			c.bytes += other.size + overhead
		}
	}
	if home != nil && home.number == number {
		size -= last.size
	}
	p.resize(number, size)
	to := p.page(number)
	to.values[c.name], to.puts = &text, append(to.puts, c)
	return nil
}

// room returns the page for a record.
func (p *plan) room(name string, size int, home *page) (number int, ok bool) {
	if home != nil {
		if rest := p.size(home.number) - home.records[name].size; rest == 0 || rest+size <= pageSize {
			return home.number, true
		}
	}
	for _, number := range slices.Sorted(maps.Keys(p.pages)) {
		if p.fits(number, size) {
			return number, true
		}
	}
	begin := startOf(name)
	at, _ := p.shelf.at(begin)
	for i := range p.shelf.pages {
		if page := p.shelf.pages[(at+i)%len(p.shelf.pages)]; page.err == nil && p.fits(page.number, size) {
			return page.number, true
		}
	}
	for i := range pages {
		number := (begin + i) % pages
		if _, exists := p.shelf.at(number); !exists && p.pages[number] == nil {
			return number, true
		}
	}
	return 0, false
}

// fits reports whether a page takes another record. A record that is larger than a page has its own page.
func (p *plan) fits(number, size int) bool {
	has := p.size(number)
	return has == 0 || has+size <= pageSize
}

func (p *plan) size(number int) int {
	if size, changes := p.sizes[number]; changes {
		return size
	}
	if at, exists := p.shelf.at(number); exists {
		return p.shelf.pages[at].size
	}
	return 0
}

func (p *plan) resize(number, by int) {
	p.sizes[number] = p.size(number) + by
	p.growth += by
}

// startOf returns the number of the page where the search for room starts.
func startOf(name string) int {
	sum := sha256.Sum256([]byte(name))
	return int(binary.BigEndian.Uint32(sum[:]) % pages)
}
