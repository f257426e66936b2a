package protocol

import (
	"errors"
	"time"
)

// epoch is an object's record of its last writer.
type epoch struct{ generation, number int64 }

func (e epoch) before(other epoch) bool {
	return e.generation < other.generation || e.generation == other.generation && e.number < other.number
}

// call is one request with side effects, as its client sees it.
type call struct {
	process *process
	session string
	bucket  int
	epoch   epoch
	token   *Token
	// checked is the time of the token's check; the call was sent at started and closed at ended, both true times.
	checked, started, ended time.Duration
	sent, over              bool
	// limit is when a paused client would have closed the call.
	limit time.Duration
	// late: the pause came between check and sending. No lease can prevent the effect of such a call.
	late bool
	// done lets the worker of a closed call continue.
	done func()
}

const running = time.Duration(1<<63 - 1)

// paused records that the call's process stops at now, and that its right ends at limit.
func (c *call) paused(limit, now time.Duration) {
	if !c.sent {
		c.late = true
	}
	if c.limit == 0 {
		c.limit = max(limit, now)
	}
}

func (c *call) limitOr(end time.Duration) time.Duration {
	if c.limit > 0 {
		return c.limit
	}
	return end
}

// reconcile works on an object of a random bucket, then on another one.
func (p *process) reconcile() {
	s := p.sim
	again := func(least, most time.Duration) { s.after(s.between(least, most), p, p.reconcile) }
	if p.draining {
		return
	}
	token, ok := p.replica.Enter(p.clock(), s.random.IntN(s.setup.buckets))
	if !ok {
		again(100*time.Millisecond, 500*time.Millisecond)
		return
	}
	mine := epoch{token.Generation, token.Number}
	if shown := s.record.shown[token.Bucket]; mine.before(shown.epoch) || mine == shown.epoch && shown.session != token.session {
		// The object shows work under a later shard map, which was lost.
		s.record.refused++
		p.replica.Raise(shown.epoch.generation)
		p.replica.Exit(token)
		p.step()
		again(100*time.Millisecond, time.Second)
		return
	}
	p.call(token, mine, 1+s.random.IntN(3), again)
}

// call makes some calls one after another, then returns the token.
func (p *process) call(token *Token, mine epoch, calls int, again func(least, most time.Duration)) {
	s := p.sim
	finish := func() {
		p.replica.Exit(token)
		p.step()
		again(50*time.Millisecond, 800*time.Millisecond)
	}
	if calls == 0 {
		finish()
		return
	}
	err := p.replica.Check(p.clock(), token)
	if errors.Is(err, ErrShort) {
		s.after(s.between(100*time.Millisecond, time.Second), p, func() { p.call(token, mine, calls, again) })
		return
	}
	if err != nil {
		finish()
		return
	}
	c := &call{process: p, session: token.session, bucket: token.Bucket, epoch: mine, token: token, checked: s.now, ended: running}
	p.calls = append(p.calls, c)
	delay := s.between(0, 5*time.Millisecond)
	onEnd := func() {
		if c.over {
			return
		}
		p.close(c)
		p.call(token, mine, calls-1, again)
	}
	c.done = finish
	s.after(delay, p, func() {
		if c.over {
			return
		}
		c.sent, c.started = true, s.now
		s.record.sent(c)
		length := s.between(10*time.Millisecond, time.Second)
		if s.happens(0.15) {
			length = s.between(time.Second, 20*time.Second)
		}
		s.after(length, p, onEnd)
	})
	if s.now < s.setup.chaos && s.happens(s.setup.loss/200) {
		p.pause([]time.Duration{9 * time.Second, 13 * time.Second, 25 * time.Second}[s.random.IntN(3)])
	}
}

// close ends a call.
func (p *process) close(c *call) {
	c.over = true
	c.ended = min(p.sim.now, c.limitOr(p.sim.now))
	if c.limit > 0 && p.sim.now > c.limit {
		p.sim.record.zombies++
	}
	for i := range p.calls {
		if p.calls[i] == c {
			p.calls = append(p.calls[:i], p.calls[i+1:]...)
			return
		}
	}
}

// endDead closes all calls whose right has ended.
func (p *process) endDead() {
	now := p.clock()
	for i := 0; i < len(p.calls); {
		c := p.calls[i]
		if p.replica.Alive(now, c.token) {
			c.limit = 0 // a harmless pause
			i++
			continue
		}
		p.close(c)
		p.sim.after(0, p, c.done)
	}
}
