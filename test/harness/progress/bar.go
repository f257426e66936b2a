package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// barWidth is the number of characters of a full bar.
const barWidth = 30

// Bar shows the number of finished steps out of a known total, and the estimated time for the rest.
type Bar struct {
	line  *line
	total int
	now   func() time.Time

	mu   sync.Mutex
	done int
}

// NewBar starts a bar. The caller must close it.
func NewBar(out io.Writer, label string, total int) *Bar {
	b := &Bar{line: newLine(out, label), total: total, now: time.Now}
	b.line.set(b.text(""))
	return b
}

// Step counts one finished step. note is shown behind the count.
func (b *Bar) Step(note string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	b.line.set(b.text(note))
}

// Say prints a whole line that stays on screen.
func (b *Bar) Say(text string) { b.line.say(text) }

// Close ends the bar.
func (b *Bar) Close() { b.line.close(fmt.Sprintf("%d of %d done", b.done, b.total)) }

func (b *Bar) text(note string) string {
	full := 0
	if b.total > 0 {
		full = barWidth * b.done / b.total
	}
	text := fmt.Sprintf("[%s%s] %d of %d", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), b.done, b.total)
	if b.done > 0 && b.done < b.total {
		left := time.Duration(float64(b.now().Sub(b.line.start)) / float64(b.done) * float64(b.total-b.done))
		text += fmt.Sprintf(", about %s left", Elapsed(left))
	}
	if note != "" {
		text += ", " + note
	}
	return text
}
