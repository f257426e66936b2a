package term

import (
	"os"

	"golang.org/x/term"
)

// Size is the width and height of a terminal, in columns and lines.
type Size struct{ Width, Height int }

// Usual is the size of a terminal that does not know its size.
var Usual = Size{Width: 80, Height: 24}

// Paper is the size of output that is not a terminal: a usual width and an unlimited height.
var Paper = Size{Width: Usual.Width}

// SizeOf returns the size of the terminal behind a file. Without a terminal that can overwrite lines, it returns a usual width, no height, and false.
func SizeOf(file *os.File) (Size, bool) {
	if os.Getenv("CI") != "" || os.Getenv("TERM") == "dumb" {
		return Paper, false
	}
	width, height, err := term.GetSize(int(file.Fd()))
	switch {
	case err != nil: // a file, a pipe or /dev/null
		return Paper, false
	case width == 0 || height == 0:
		return Usual, true
	}
	return Size{Width: width, Height: height}, true
}
