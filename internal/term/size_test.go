package term

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOutputThatIsNoTerminalIsNotDrawnOver(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("TERM", "xterm")
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []*os.File{nowhere, log} {
		if s, is := SizeOf(file); is {
			t.Errorf("%s is taken for a terminal of %v", file.Name(), s)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}
