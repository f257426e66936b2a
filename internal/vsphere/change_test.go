package vsphere

import (
	"strings"
	"testing"
)

func TestStringsOfOthersAreShownHarmless(t *testing.T) {
	for in, want := range map[string]string{
		`VSPHERE.LOCAL\alice`:                 `"VSPHERE.LOCAL\\alice"`,
		"jürgen@vsphere.local":                `"jürgen@vsphere.local"`,
		"":                                    `""`,
		"a\x00b\x1b[2J\r\nc\u0085d":           `"ab[2Jcd"`,
		"nob\u202eecila\u2066\u200f\ufeff":    `"nobecila"`,
		"zero\u200bwidth\u2028line\u2029":     `"zerowidthline"`,
		"bad\xff\xfeutf8":                     `"badutf8"`,
		`say "hi" and \n`:                     `"say \"hi\" and \\n"`,
		strings.Repeat("ä", 64):               `"` + strings.Repeat("ä", 64) + `"`,
		strings.Repeat("\u202e", 9999) + "x":  `"x"`,
		strings.Repeat("ä", 65) + "evil tail": `"` + strings.Repeat("ä", 64) + `…"`,
	} {
		if got := Quoted(in); got != want {
			t.Errorf("%q is shown as %s, want %s", in, got, want)
		}
	}
}
