//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// size is how many lines and columns a terminal has.
type size struct{ width, height int }

// usual is taken for a terminal that does not know its size.
var usual = size{width: 80, height: 24}

// paper is what is no terminal: as wide as the terminal on which people will read it, and without an end.
var paper = size{width: usual.width}

// terminalSize asks the terminal behind a file. Without one, or where lines cannot be written over, it returns false, and the size of paper.
func terminalSize(file *os.File) (size, bool) {
	if os.Getenv("CI") != "" || os.Getenv("TERM") == "dumb" {
		return paper, false
	}
	window, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil: // a file, a pipe, /dev/null
		return paper, false
	case window.Col == 0 || window.Row == 0:
		return usual, true
	}
	return size{width: int(window.Col), height: int(window.Row)}, true
}
