package vmgroup

import (
	"container/list"
	"sync"
	"time"

	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

// silentInterval is how often a group of a member that does not answer is looked at: its health check, not
// the groups, finds out when it answers again.
const silentInterval = 10 * time.Second

// limiter bounds how many passes may be under way for one member and for one vCenter, so that one that has just gone
// silent cannot take every worker before anybody has noticed. A member may have fewer than a vCenter: a pass that
// waits for a silent member counts for its vCenter as well, and must not shut the vCenter's other members out.
//
// A member may take a place while it has fewer than are free. So one alone has half of them, two have a third each, and as much as each of
// them has stays free for the next one.
//
// A pass that finds no place gives its worker back, and its request waits here. Whoever leaves hands the place on to the member that has the fewest,
// and in it to the request that waits longest, urgent ones first. No place stands empty while somebody waits who may take it. A request that has a
// place is queued again, and takes the place up with its next pass.
type limiter struct {
	places, perMember, perVCenter int
	urgency                       *urgency[mcreconcile.Request]

	mu sync.Mutex
	// queue queues a request that was given a place, before all others.
	queue func(mcreconcile.Request)
	// taken are the places that are not free.
	taken     int
	members   map[string]*share
	byVCenter map[string]int
	waiting   map[mcreconcile.Request]*waiter
	// given are the places that wait for their request.
	given map[mcreconcile.Request]lane
	turns int
}

// share is what a member has. One that has nothing and waits for nothing has none.
type share struct {
	// taken are its places, and turn is when it took the last one.
	taken, turn int
	// lines are those who wait, by vCenter.
	lines map[string]*line
}

// lane is what a pass takes a place of.
type lane struct{ member, vcenter string }

// line are those that wait for places in one lane, urgent ones apart, each in the order of their coming.
type line struct{ urgent, rest list.List }

type waiter struct {
	request mcreconcile.Request
	lane    lane
	urgent  bool
	turn    int
	// in is the list that it waits in, at this element.
	in *list.List
	at *list.Element
}

// newLimiter divides workers, one for each place: one member may have half of them, one vCenter three quarters.
func newLimiter(workers int) *limiter {
	return &limiter{
		places: workers, perMember: max(1, workers/2), perVCenter: max(1, workers-workers/4), urgency: newUrgency[mcreconcile.Request](),
		queue: func(mcreconcile.Request) {}, members: map[string]*share{}, byVCenter: map[string]int{},
		waiting: map[mcreconcile.Request]*waiter{}, given: map[mcreconcile.Request]lane{},
	}
}

// deliverTo queues requests that were given a place from now on with queue, which must not block. Such a request is raised to an urgent
// one: it holds a place that nobody else can use.
func (l *limiter) deliverTo(queue func(mcreconcile.Request)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = queue
}

// enter begins a pass with a place of the member and of the vCenter, or returns false. Then the request is queued again once there is one.
// The caller calls leave once. Every pass has to begin with enter, since it may have been given a place that others wait for.
func (l *limiter) enter(request mcreconcile.Request, vcenter string) (leave func(), ok bool) {
	in, urgent := lane{string(request.ClusterName), vcenter}, l.urgency.popped(request)
	l.mu.Lock()
	defer l.mu.Unlock()
	if has, ok := l.given[request]; ok {
		delete(l.given, request)
		return func() { l.leave(has) }, true
	}
	if w := l.waiting[request]; w != nil {
		if w.lane == in && (w.urgent || !urgent) {
			return nil, false
		}
		l.unpark(w)
		urgent = urgent || w.urgent
	}
	if l.free(in) {
		l.take(in)
		return func() { l.leave(in) }, true
	}
	l.park(request, in, urgent)
	return nil, false
}

// waits reports whether a request waits for a place, or for its pass with one.
func (l *limiter) waits(request mcreconcile.Request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, given := l.given[request]
	return given || l.waiting[request] != nil
}

func (l *limiter) free(in lane) bool {
	has := 0
	if of := l.members[in.member]; of != nil {
		has = of.taken
	}
	return has < min(l.perMember, l.places-l.taken) && l.byVCenter[in.vcenter] < l.perVCenter
}

func (l *limiter) shareOf(member string) *share {
	of := l.members[member]
	if of == nil {
		of = &share{lines: map[string]*line{}}
		l.members[member] = of
	}
	return of
}

func (l *limiter) take(in lane) {
	l.turns++
	of := l.shareOf(in.member)
	of.taken, of.turn = of.taken+1, l.turns
	l.taken++
	l.byVCenter[in.vcenter]++
}

func (l *limiter) park(request mcreconcile.Request, in lane, urgent bool) {
	l.turns++
	w := &waiter{request: request, lane: in, urgent: urgent, turn: l.turns}
	l.waiting[request] = w
	lines := l.shareOf(in.member).lines
	of := lines[in.vcenter]
	if of == nil {
		of = &line{}
		lines[in.vcenter] = of
	}
	if w.in = &of.rest; urgent {
		w.in = &of.urgent
	}
	w.at = w.in.PushBack(w)
}

// unpark takes a waiter out of its line.
func (l *limiter) unpark(w *waiter) {
	delete(l.waiting, w.request)
	w.in.Remove(w.at)
	of := l.members[w.lane.member]
	if line := of.lines[w.lane.vcenter]; line.urgent.Len()+line.rest.Len() == 0 {
		delete(of.lines, w.lane.vcenter)
	}
	l.settle(w.lane.member)
}

// settle forgets a member that has nothing and waits for nothing.
func (l *limiter) settle(member string) {
	if of := l.members[member]; of != nil && of.taken == 0 && len(of.lines) == 0 {
		delete(l.members, member)
	}
}

// forget takes a request of a group that is gone out of its line, gives back the place that it may have been given, and forgets how urgent it is. A pass
// that is under way keeps its place.
func (l *limiter) forget(request mcreconcile.Request) {
	l.urgency.forget(request)
	l.mu.Lock()
	has, given := l.given[request]
	delete(l.given, request)
	if w := l.waiting[request]; w != nil {
		l.unpark(w)
	}
	l.mu.Unlock()
	if given {
		l.leave(has)
	}
}

// requeue queues a request again that was forgotten too early.
func (l *limiter) requeue(request mcreconcile.Request) {
	l.mu.Lock()
	queue := l.queue
	l.mu.Unlock()
	queue(request)
}

// leave gives a place back, and hands on what is free now.
func (l *limiter) leave(of lane) {
	l.mu.Lock()
	l.taken--
	l.members[of.member].taken--
	if l.byVCenter[of.vcenter]--; l.byVCenter[of.vcenter] == 0 {
		delete(l.byVCenter, of.vcenter)
	}
	var requests []mcreconcile.Request
	for w := l.next(); w != nil; w = l.next() {
		l.unpark(w)
		l.take(w.lane)
		l.given[w.request] = w.lane
		requests = append(requests, w.request)
	}
	l.settle(of.member)
	queue := l.queue
	l.mu.Unlock()
	for _, request := range requests {
		l.urgency.raise(request)
		queue(request)
	}
}

// next is the first of those whose lane has a place, or nil.
func (l *limiter) next() *waiter {
	var first *waiter
	var whose *share
	for member, of := range l.members {
		w := l.firstOf(member, of)
		if w != nil && (first == nil || of.before(whose)) {
			first, whose = w, of
		}
	}
	return first
}

// firstOf is the first of a member's whose lane has a place, or nil.
func (l *limiter) firstOf(member string, of *share) *waiter {
	var first *waiter
	for vcenter, line := range of.lines {
		if !l.free(lane{member, vcenter}) {
			continue
		}
		if w := line.first(); first == nil || w.before(first) {
			first = w
		}
	}
	return first
}

// before: equals take turns. How urgent it is does not count between members: all groups of one may be urgent for ever.
func (s *share) before(o *share) bool {
	if s.taken != o.taken {
		return s.taken < o.taken
	}
	return s.turn < o.turn
}

func (w *waiter) before(o *waiter) bool {
	if w.urgent != o.urgent {
		return w.urgent
	}
	return w.turn < o.turn
}

// first returns who is next in a line that is not empty.
func (l *line) first() *waiter {
	if l.urgent.Len() > 0 {
		return l.urgent.Front().Value.(*waiter)
	}
	return l.rest.Front().Value.(*waiter)
}
