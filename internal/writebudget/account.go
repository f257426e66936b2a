package writebudget

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

const (
	// soonest and latest are the least and the most time after which who waits is to ask again.
	soonest, latest = 100 * time.Millisecond, 10 * time.Second
	// lapses is after what time without a question nobody waits any more, and what was granted and not taken is given back.
	lapses = time.Minute
)

// Turn names a write that waits.
type Turn struct {
	// Namespace that it is for. Namespaces of a member take turns, so that a user of one does not keep others waiting. What is for no namespace has
	// a name that none can have.
	Namespace string
	// ID of what is written, in this namespace.
	ID string
}

// account is the budget of one member. It knows no clock: the time is passed in, and never goes back.
//
// A write is granted while there is credit, however little, and makes debt of what it is larger. So the largest write needs no larger burst.
type account struct {
	credit *rate.Limiter
	rate   float64
	// lines of those that wait, by namespace, and the namespaces in the order of their turns.
	lines map[string]*line
	order []string
	// waiting are those in the lines, granted those whose turn has come since they asked last, and grants the same in the order of time.
	waiting map[Turn]*waiter
	granted map[Turn]*waiter
	grants  []*waiter
}

// line is a namespace's.
type line struct {
	waiters []*waiter
	// left is how many have left it at its head.
	left int
}

type waiter struct {
	Turn
	bytes int
	// place is how many have joined the line before.
	place int
	// since is the first question, asked the last one, and granted when the turn came.
	since, asked, granted time.Time
}

func newAccount(l Limits) *account {
	return &account{
		credit: rate.NewLimiter(rate.Limit(l.Rate), l.Burst), rate: float64(l.Rate),
		lines: map[string]*line{}, waiting: map[Turn]*waiter{}, granted: map[Turn]*waiter{},
	}
}

// ask returns how long a write has to wait before it asks again, or zero once it may be done. Then the bytes are charged, and waited is how long it took.
func (a *account) ask(now time.Time, turn Turn, bytes int) (wait, waited time.Duration) {
	a.serve(now)
	if w := a.granted[turn]; w != nil {
		delete(a.granted, turn)
		a.charge(now, bytes-w.bytes)
		return 0, now.Sub(w.since)
	}
	if w := a.waiting[turn]; w != nil {
		w.asked, w.bytes = now, bytes
		return a.estimate(now, w), 0
	}
	if len(a.order) == 0 && a.inCredit(now) {
		a.charge(now, bytes)
		return 0, 0
	}
	l := a.lines[turn.Namespace]
	if l == nil {
		l = &line{}
		a.lines[turn.Namespace] = l
		a.order = append(a.order, turn.Namespace)
	}
	w := &waiter{Turn: turn, bytes: bytes, place: l.left + len(l.waiters), since: now, asked: now}
	l.waiters = append(l.waiters, w)
	a.waiting[turn] = w
	return a.estimate(now, w), 0
}

// serve gives the credit that there is to those that wait.
func (a *account) serve(now time.Time) {
	for len(a.grants) > 0 && now.Sub(a.grants[0].granted) >= lapses {
		w := a.grants[0]
		if a.grants = a.grants[1:]; a.granted[w.Turn] == w {
			delete(a.granted, w.Turn)
			a.charge(now, -w.bytes)
		}
	}
	for len(a.order) > 0 && a.inCredit(now) {
		namespace := a.order[0]
		a.order = a.order[1:]
		l := a.lines[namespace]
		w := l.waiters[0]
		l.waiters, l.left = l.waiters[1:], l.left+1
		if len(l.waiters) > 0 {
			a.order = append(a.order, namespace)
		} else {
			delete(a.lines, namespace)
		}
		delete(a.waiting, w.Turn)
		if now.Sub(w.asked) >= lapses {
			continue
		}
		a.charge(now, w.bytes)
		w.granted = now
		a.granted[w.Turn] = w
		a.grants = append(a.grants, w)
	}
}

// withdraw drops a write that is not to be done.
func (a *account) withdraw(now time.Time, turn Turn) {
	if w := a.waiting[turn]; w != nil {
		delete(a.waiting, turn)
		l := a.lines[turn.Namespace]
		if l.waiters = slices.DeleteFunc(l.waiters, func(o *waiter) bool { return o == w }); len(l.waiters) == 0 {
			delete(a.lines, turn.Namespace)
			a.order = slices.DeleteFunc(a.order, func(namespace string) bool { return namespace == turn.Namespace })
		}
	}
	if w := a.granted[turn]; w != nil {
		delete(a.granted, turn)
		a.charge(now, -w.bytes)
	}
}

// estimate is when the turn of a write comes, if those before it are as large and others do not come.
func (a *account) estimate(now time.Time, w *waiter) time.Duration {
	ahead := ((w.place-a.lines[w.Namespace].left)*len(a.order) + slices.Index(a.order, w.Namespace)) * w.bytes
	missing := float64(ahead) - a.credit.TokensAt(now)
	return max(soonest, min(latest, time.Duration(missing/a.rate*float64(time.Second))))
}

// idle reports whether nobody waits, and there is credit.
func (a *account) idle(now time.Time) bool {
	a.serve(now)
	return len(a.order) == 0 && a.inCredit(now)
}

func (a *account) inCredit(now time.Time) bool { return a.credit.TokensAt(now) > 0 }

// charge takes bytes off the credit, or gives them back if they are less than none.
func (a *account) charge(now time.Time, bytes int) {
	for burst := a.credit.Burst(); bytes > burst; bytes -= burst {
		a.credit.ReserveN(now, burst)
	}
	a.credit.ReserveN(now, bytes)
}
