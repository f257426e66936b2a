package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// logInterval is the interval of added lines if the output is no terminal.
	logInterval = 15 * time.Second
	// terminalInterval is the interval of updates on a terminal.
	terminalInterval = 250 * time.Millisecond
	// quiet is the longest time without output.
	quiet = 2 * time.Second
)

// line is a status line with the elapsed time. Work of less than two seconds prints nothing.
type line struct {
	out      io.Writer
	label    string
	terminal bool
	start    time.Time
	stop     chan struct{}
	stopped  chan struct{}

	mu    sync.Mutex
	text  string
	shown bool
}

func newLine(out io.Writer, label string) *line {
	if out == nil {
		out = os.Stderr
	}
	l := &line{
		out: out, label: label, terminal: isTerminal(out), start: time.Now(),
		stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go l.loop()
	return l
}

// isTerminal reports whether out is a terminal on which lines can be rewritten.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("CI") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (l *line) loop() {
	defer close(l.stopped)
	interval := logInterval
	if l.terminal {
		interval = terminalInterval
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
			if time.Since(l.start) >= quiet {
				l.show()
			}
		}
	}
}

// set replaces the text of the next update.
func (l *line) set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
}

// say prints a separate line.
func (l *line) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print(Fold(text, "", "  ", Columns))
}

func (l *line) print(lines []string) {
	for _, line := range lines {
		_, _ = fmt.Fprintln(l.out, line)
	}
}

func (l *line) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shown = true
	text := l.text
	if text == "" {
		text = "looking for what is missing"
	}
	lines := Fold(fmt.Sprintf("%s: %s, %s", l.label, text, Elapsed(time.Since(l.start))), "", "  ", Columns)
	if l.terminal {
		_, _ = fmt.Fprintf(l.out, "\r\033[K%s", lines[0]) // a second line could not be overwritten
		return
	}
	l.print(lines)
}

// close stops the line. It prints result with the duration if a line was shown before, or if the work took long.
func (l *line) close(result string) {
	close(l.stop)
	<-l.stopped
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown && l.terminal {
		_, _ = fmt.Fprint(l.out, "\r\033[K")
	}
	if result != "" && (l.shown || time.Since(l.start) >= quiet) {
		l.print(Fold(fmt.Sprintf("%s: %s after %s", l.label, result, Elapsed(time.Since(l.start))), "", "  ", Columns))
	}
}

// Elapsed formats a duration as 7s, 2m05s or 1h02m.
func Elapsed(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
}
