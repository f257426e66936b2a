//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// size is the width and height of a terminal, in columns and lines.
type size struct{ width, height int }

// usual is the size of a terminal that does not know its size.
var usual = size{width: 80, height: 24}

// paper is the size of output that is not a terminal: a usual width and an unlimited height.
var paper = size{width: usual.width}

// terminalSize returns the size of the terminal behind a file. Without a terminal that can overwrite lines, it returns paper and false.
func terminalSize(file *os.File) (size, bool) {
	if os.Getenv("CI") != "" || os.Getenv("TERM") == "dumb" {
		return paper, false
	}
	window, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil: // a file, a pipe or /dev/null
		return paper, false
	case window.Col == 0 || window.Row == 0:
		return usual, true
	}
	return size{width: int(window.Col), height: int(window.Row)}, true
}
