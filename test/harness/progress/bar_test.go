package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestABarSaysHowFarItIsAndHowLongTheRestMayTake(t *testing.T) {
	var out bytes.Buffer
	b := NewBar(&out, "points", 4)
	b.now = func() time.Time { return b.line.start.Add(30 * time.Second) }
	b.Step("none wrong")
	if got := b.line.text; !strings.Contains(got, "[#######.......................] 1 of 4, about 1m30s left, none wrong") {
		t.Errorf("a bar after one of four steps in 30 s reads %q", got)
	}
	for range 3 {
		b.Step("")
	}
	if got := b.line.text; strings.Contains(got, "left") || strings.Contains(got, ".") {
		t.Errorf("a full bar reads %q", got)
	}
	b.Close()
}
