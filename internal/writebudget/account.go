package writebudget

import (
	"slices"
	"time"

	"golang.org/x/time/rate"
)

const (
	// soonest and latest limit the time until a waiting write asks again.
	soonest, latest = 100 * time.Millisecond, 10 * time.Second
	// lapses is the time after the last question. Then a waiting write is dropped, and the bytes of a granted one are given back.
	lapses = time.Minute
)

// Turn names a waiting write.
type Turn struct {
	// Namespace of the write. Namespaces of a member take turns, so that a user of one namespace does not delay others. Writes for no namespace have a
	// name that no namespace can have.
	Namespace string
	// ID of the written object in this namespace.
	ID string
}

// account is the budget of one member. It has no clock: the caller passes the time, which never decreases.
//
// A write is granted while any credit is left. Its excess becomes debt. So the largest write needs no larger burst.
type account struct {
	credit *rate.Limiter
	rate   float64
	// lines contains the waiting writes by namespace. order contains the namespaces in the order of their turns.
	lines map[string]*line
	order []string
	// waiting are the writes in the lines. granted are the writes whose turn came after their last question, and grants lists them by time.
	waiting map[Turn]*waiter
	granted map[Turn]*waiter
	grants  []*waiter
}

// line is the queue of a namespace.
type line struct {
	waiters []*waiter
	// left counts the waiters that left the line at its head.
	left int
}

type waiter struct {
	Turn
	bytes int
	// place counts the waiters that joined the line before.
	place int
	// since is the time of the first question, asked of the last one, and granted of the turn.
	since, asked, granted time.Time
}

func newAccount(l Limits) *account {
	return &account{
		credit: rate.NewLimiter(rate.Limit(l.Rate), l.Burst), rate: float64(l.Rate),
		lines: map[string]*line{}, waiting: map[Turn]*waiter{}, granted: map[Turn]*waiter{},
	}
}

// ask returns the time until a write must ask again. If it returns zero, the write can start: its bytes are charged, and waited is its total wait.
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

// serve grants waiting writes while credit is left.
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

// withdraw drops a canceled write.
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

// estimate returns the wait for a write's turn, if all earlier writes are as large and no others arrive.
func (a *account) estimate(now time.Time, w *waiter) time.Duration {
	ahead := ((w.place-a.lines[w.Namespace].left)*len(a.order) + slices.Index(a.order, w.Namespace)) * w.bytes
	missing := float64(ahead) - a.credit.TokensAt(now)
	return max(soonest, min(latest, time.Duration(missing/a.rate*float64(time.Second))))
}

// idle reports whether no write waits and credit is left.
func (a *account) idle(now time.Time) bool {
	a.serve(now)
	return len(a.order) == 0 && a.inCredit(now)
}

func (a *account) inCredit(now time.Time) bool { return a.credit.TokensAt(now) > 0 }

// charge subtracts bytes from the credit. A negative number is given back.
func (a *account) charge(now time.Time, bytes int) {
	for burst := a.credit.Burst(); bytes > burst; bytes -= burst {
		a.credit.ReserveN(now, burst)
	}
	a.credit.ReserveN(now, bytes)
}
