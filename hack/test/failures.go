package main

import (
	"fmt"
	"io"
	"strings"
)

// linesPerFailure bounds what is repeated of one test.
const linesPerFailure = 25

// failures remembers what failing tests said: at the end of a long run it stands far above the last line.
type failures struct {
	lines []string
	left  int // lines of the current failure that may still be kept
}

// add takes a line of go test's output, with its end. What a test says is indented below its name.
func (f *failures) add(line string) {
	switch {
	case strings.HasPrefix(strings.TrimLeft(line, " "), "--- FAIL: "), strings.HasPrefix(line, "panic: "):
		f.left = linesPerFailure
	case !strings.HasPrefix(line, "    "):
		f.left = 0
	}
	if f.left > 0 {
		f.lines = append(f.lines, line)
		f.left--
	}
}

// print repeats the failures.
func (f *failures) print(out io.Writer) {
	if len(f.lines) == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "test: what failed, once more:\n%s", strings.Join(f.lines, ""))
}
