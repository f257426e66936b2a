package fairqueue

import (
	"cmp"
	"maps"
	"slices"
)

// places is the storage of client-go's queue: the waiting items, and the places of the items that were handed out. Its caller holds a lock.
type places[T comparable] struct {
	limits Limits
	flow   Flow[T]

	// entries are the waiting items. Each is in arrivals, or in a line, or its resource is being queried. arrivals can have others.
	entries  map[T]*entry[T]
	arrivals []*entry[T]
	// chosen is the entry that Pop returns.
	chosen *entry[T]
	// asked are priorities of Adds that have not reached Push or Touch; preferred are the minimum priorities of each Add.
	asked, preferred map[T]int

	tenants    map[string]*share[T]
	byResource map[string]int
	// held are the items that were handed out.
	held map[T]*entry[T]
	// turn numbers entries and places, for their order.
	turn int
}

// share is the state of a tenant.
type share[T comparable] struct {
	// taken is the number of its places, and turn is when it took the last one.
	taken, turn int
	// waiting is the number of its waiting items. lines are those that were filed, by resource, in the order of compare.
	waiting int
	lines   map[string][]*entry[T]
}

type entry[T comparable] struct {
	item     T
	of       *share[T]
	resource string
	priority int
	turn     int
	// filed is true if the entry is in a line.
	filed bool
	// adds counts Adds since the first one.
	adds int
}

func newPlaces[T comparable](limits Limits, flow Flow[T]) *places[T] {
	return &places[T]{
		limits: limits, flow: flow,
		entries: map[T]*entry[T]{}, asked: map[T]int{}, preferred: map[T]int{},
		tenants: map[string]*share[T]{}, byResource: map[string]int{}, held: map[T]*entry[T]{},
	}
}

// ask gives the next Push or Touch of an item at least this priority.
func (p *places[T]) ask(item T, priority int) {
	if priority > p.asked[item] {
		p.asked[item] = priority
	}
}

// prefer gives each Push or Touch of an item at least this priority.
func (p *places[T]) prefer(item T, priority int) {
	if priority > 0 {
		p.preferred[item] = priority
	} else {
		delete(p.preferred, item)
	}
}

// priority returns the priority of an Add.
func (p *places[T]) priority(item T) int {
	asked := p.asked[item]
	delete(p.asked, item)
	return max(asked, p.preferred[item])
}

func (p *places[T]) forget(item T) {
	delete(p.asked, item)
	delete(p.preferred, item)
}

// Push implements workqueue.Queue.
func (p *places[T]) Push(item T) {
	p.turn++
	tenant := p.flow.Tenant(item)
	if p.tenants[tenant] == nil {
		p.tenants[tenant] = &share[T]{lines: map[string][]*entry[T]{}}
	}
	e := &entry[T]{item: item, of: p.tenants[tenant], priority: p.priority(item), turn: p.turn}
	p.entries[item] = e
	e.of.waiting++
	p.arrivals = append(p.arrivals, e)
}

// Touch implements workqueue.Queue. The item possibly uses another resource than when it was added.
func (p *places[T]) Touch(item T) {
	e := p.entries[item]
	e.adds++
	if e.filed {
		e.unfile()
		p.arrivals = append(p.arrivals, e)
	}
	if priority := p.priority(item); priority > e.priority {
		p.turn++
		e.priority, e.turn = priority, p.turn
	}
}

// Len implements workqueue.Queue.
func (p *places[T]) Len() int { return len(p.entries) }

// Pop implements workqueue.Queue.
func (p *places[T]) Pop() T {
	e := p.chosen
	p.chosen = nil
	if e.filed {
		e.unfile()
	}
	delete(p.entries, e.item)
	e.of.waiting--
	return e.item
}

// waiting counts the items of each tenant. It iterates over tenants, not items, to be fast.
func (p *places[T]) waiting() map[string]int {
	counts := map[string]int{}
	for tenant, of := range p.tenants {
		if of.waiting > 0 {
			counts[tenant] = of.waiting
		}
	}
	return counts
}

// arrival returns the next entry whose resource must be queried, or nil.
func (p *places[T]) arrival() *entry[T] {
	if len(p.arrivals) == 0 {
		return nil
	}
	e := p.arrivals[0]
	p.arrivals[0], p.arrivals = nil, p.arrivals[1:]
	return e
}

// file puts an entry into the line of its resource, which was queried after this many Adds. It returns false if the entry does not wait any
// more, or if its resource possibly changed since.
func (p *places[T]) file(e *entry[T], resource string, adds int) bool {
	if p.entries[e.item] != e {
		return false
	}
	if e.adds != adds {
		p.arrivals = append(p.arrivals, e)
		return false
	}
	e.filed, e.resource = true, resource
	at, _ := slices.BinarySearchFunc(e.of.lines[resource], e, compare)
	e.of.lines[resource] = slices.Insert(e.of.lines[resource], at, e)
	return true
}

func (e *entry[T]) unfile() {
	e.filed = false
	line := e.of.lines[e.resource]
	at, _ := slices.BinarySearchFunc(line, e, compare)
	if e.of.lines[e.resource] = slices.Delete(line, at, at+1); len(line) == 1 {
		delete(e.of.lines, e.resource)
	}
}

func (p *places[T]) hold(e *entry[T]) {
	p.turn++
	e.of.taken, e.of.turn = e.of.taken+1, p.turn
	p.byResource[e.resource]++
	p.held[e.item] = e
}

func (p *places[T]) release(item T) {
	e := p.held[item]
	if e == nil {
		return
	}
	delete(p.held, item)
	e.of.taken--
	if p.byResource[e.resource]--; p.byResource[e.resource] == 0 {
		delete(p.byResource, e.resource)
	}
}

// settle drops tenants without places once no item waits. Until then, a tenant that returns keeps its turn.
func (p *places[T]) settle() {
	if len(p.entries) == 0 {
		maps.DeleteFunc(p.tenants, func(_ string, of *share[T]) bool { return of.taken == 0 })
	}
}

// free reports whether an item of this tenant and this resource can be handed out.
func (p *places[T]) free(of *share[T], resource string) bool {
	return of.taken < min(p.limits.PerTenant, p.limits.Workers-len(p.held)) && p.byResource[resource] < p.limits.PerResource
}

// next returns the entry to hand out next, or nil.
func (p *places[T]) next() *entry[T] {
	var first *entry[T]
	for _, of := range p.tenants {
		for resource, line := range of.lines {
			if p.free(of, resource) && (first == nil || line[0].before(first)) {
				first = line[0]
			}
		}
	}
	return first
}

// before compares entries that can be handed out. It ignores priorities between tenants: all items of one tenant can be urgent forever.
func (e *entry[T]) before(o *entry[T]) bool {
	if e.of == o.of {
		return compare(e, o) < 0
	}
	return cmp.Or(cmp.Compare(e.of.taken, o.of.taken), cmp.Compare(e.of.turn, o.of.turn), cmp.Compare(e.turn, o.turn)) < 0
}

func compare[T comparable](a, b *entry[T]) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.turn, b.turn))
}
