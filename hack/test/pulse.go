package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/progress"
)

// silence is how long nothing may be printed.
const silence = 30 * time.Second

// pulse passes output on and says that work goes on when there has been none for a while.
type pulse struct {
	out   io.Writer
	began time.Time
	end   chan struct{}
	ended chan struct{}

	mu       sync.Mutex
	last     time.Time
	reported int // packages whose line was printed
	failures failures
}

func newPulse(out io.Writer) *pulse {
	now := time.Now()
	p := &pulse{out: out, began: now, last: now, end: make(chan struct{}), ended: make(chan struct{})}
	go p.loop()
	return p
}

// Write implements io.Writer. The go command writes whole lines.
func (p *pulse) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Now()
	for line := range bytes.Lines(b) {
		p.failures.add(string(line))
		for _, prefix := range []string{"ok  \t", "FAIL\t", "?   \t"} {
			if bytes.HasPrefix(line, []byte(prefix)) {
				p.reported++
			}
		}
	}
	return p.out.Write(b)
}

func (p *pulse) loop() {
	defer close(p.ended)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-ticker.C:
			p.beat()
		}
	}
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.last) < silence {
		return
	}
	p.last = time.Now()
	_, _ = fmt.Fprintf(p.out, "test: still running after %s, %d packages have reported\n",
		progress.Elapsed(time.Since(p.began)), p.reported)
}

func (p *pulse) stop() {
	close(p.end)
	<-p.ended
}
