package vmgroup

import (
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
// A pass that finds no place gives its worker back, and its request waits here. Whoever leaves hands the place on to the request
// that waits longest, urgent ones first, and no place stands empty while somebody waits for it. A request that has a place is queued
// again, and takes the place up with its next pass.
type limiter struct {
	perMember, perVCenter int
	urgency               *urgency[mcreconcile.Request]

	mu sync.Mutex
	// queue queues a request that was given a place, before all others.
	queue     func(mcreconcile.Request)
	byMember  map[string]int
	byVCenter map[string]int
	lanes     map[lane]*line
	waiting   map[mcreconcile.Request]*waiter
	// given are the places that wait for their request.
	given map[mcreconcile.Request]lane
	turns int
}

// lane is what a pass takes a place of.
type lane struct{ member, vcenter string }

// line are those that wait for places in one lane, urgent ones apart, each in the order of their coming. Waiters that are void have left it.
type line struct{ urgent, rest []*waiter }

type waiter struct {
	request mcreconcile.Request
	lane    lane
	urgent  bool
	turn    int
	void    bool
}

// newLimiter divides workers: one member may have half of them, one vCenter three quarters.
func newLimiter(workers int) *limiter {
	return &limiter{
		perMember: max(1, workers/2), perVCenter: max(1, workers-workers/4), urgency: newUrgency[mcreconcile.Request](),
		queue: func(mcreconcile.Request) {}, byMember: map[string]int{}, byVCenter: map[string]int{},
		lanes: map[lane]*line{}, waiting: map[mcreconcile.Request]*waiter{}, given: map[mcreconcile.Request]lane{},
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
		w.void = true
		urgent = urgent || w.urgent
	}
	if l.free(in) {
		delete(l.waiting, request)
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
	return l.byMember[in.member] < l.perMember && l.byVCenter[in.vcenter] < l.perVCenter
}

func (l *limiter) take(in lane) {
	l.byMember[in.member]++
	l.byVCenter[in.vcenter]++
}

func (l *limiter) park(request mcreconcile.Request, in lane, urgent bool) {
	l.turns++
	w := &waiter{request: request, lane: in, urgent: urgent, turn: l.turns}
	l.waiting[request] = w
	of := l.lanes[in]
	if of == nil {
		of = &line{}
		l.lanes[in] = of
	}
	if urgent {
		of.urgent = append(of.urgent, w)
	} else {
		of.rest = append(of.rest, w)
	}
}

// leave gives a place back, and hands on what is free now.
func (l *limiter) leave(of lane) {
	l.mu.Lock()
	leaveOne(l.byMember, of.member)
	leaveOne(l.byVCenter, of.vcenter)
	var requests []mcreconcile.Request
	for w := l.next(); w != nil; w = l.next() {
		w.void = true
		delete(l.waiting, w.request)
		l.take(w.lane)
		l.given[w.request] = w.lane
		requests = append(requests, w.request)
	}
	queue := l.queue
	l.mu.Unlock()
	for _, request := range requests {
		l.urgency.raise(request)
		queue(request)
	}
}

func leaveOne(busy map[string]int, name string) {
	if busy[name]--; busy[name] == 0 {
		delete(busy, name)
	}
}

// next is the first of those whose lane has a place, or nil.
func (l *limiter) next() *waiter {
	var first *waiter
	for in, of := range l.lanes {
		w := of.first()
		if w == nil {
			delete(l.lanes, in)
			continue
		}
		if l.free(in) && (first == nil || w.before(first)) {
			first = w
		}
	}
	return first
}

func (w *waiter) before(o *waiter) bool {
	if w.urgent != o.urgent {
		return w.urgent
	}
	return w.turn < o.turn
}

// first returns who is next, or nil, and drops those that have left.
func (l *line) first() *waiter {
	for _, class := range []*[]*waiter{&l.urgent, &l.rest} {
		for len(*class) > 0 {
			if w := (*class)[0]; !w.void {
				return w
			}
			(*class)[0] = nil
			*class = (*class)[1:]
		}
	}
	return nil
}
