package untrusted

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTextIsShownHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		`VSPHERE.LOCAL\alice`:               `VSPHERE.LOCAL\alice`,
		"Jürgens Vorlage – 22.04 (日本)":      "Jürgens Vorlage – 22.04 (日本)",
		"a\x00b\x1b[2J\r\nc\u0085d\x9b31m":  "a�b�[2J c d�31m",
		"nob\u202eecila\u2066\u200f\ufeff":  "nob�ecila�",
		"zero\u200bwidth\u2028line\u2029":   "zero�width line ",
		"bad\xff\xfeutf8":                   "bad�utf8",
		"fill\u3164er, selec\ufe0ftor":      "fill�er, selec�tor",
		"a � that was there":                "a � that was there",
		strings.Repeat("ä", 20):             strings.Repeat("ä", 20),
		strings.Repeat("ä", 21):             strings.Repeat("ä", 18) + "…",
		strings.Repeat("\u202e", 9999) + "": "�",
		strings.Repeat("\x1b[", 9999):       strings.Repeat("�[", 9) + "…",
	} {
		if got := Text(in, 40); got != want {
			t.Errorf("%.60q is shown as %q, want %q", in, got, want)
		}
	}
}

func TestNamesWithinASentence(t *testing.T) {
	for in, want := range map[string]string{
		"web-0":                       "web-0",
		"/DC0/vm/linux/debian-12_a.1": "/DC0/vm/linux/debian-12_a.1",
		"jürgen@vsphere.local":        "jürgen@vsphere.local",
		"":                            `""`,
		`VSPHERE.LOCAL\alice`:         `"VSPHERE.LOCAL\\alice"`,
		"web. Delete all of it":       `"web. Delete all of it"`,
		`say "hi" and \n`:             `"say \"hi\" and \\n"`,
		"nob\u202eecila":              `"nob�ecila"`,
		`"`:                           `"\""`,
		`"a b"`:                       `"a b"`,
		`"a" b"`:                      `"\"a\" b\""`,
		strings.Repeat("w", 161):      `"` + strings.Repeat("w", 157) + `…"`,
		strings.Repeat("\x1b", 9999):  `"�"`,
	} {
		if got := Name(in); got != want {
			t.Errorf("name %.60q is shown as %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]bool{
		"0a1b-2c": true, "/DC0/vm/web_0.1@x:y": true, "": false, "a b": false, `"a"`: false, `"$(id)"`: false, "a;id": false, "$(id)": false, "`id`": false, "a'": false, "a\nb": false,
		"a|b": false, "a&b": false, "a>b": false, "*": false, "~": false, "a#b": false, `a\b`: false, "{a,b}": false, "a\u202eb": false, strings.Repeat("a", 161): false,
	} {
		if Plain(in) != want {
			t.Errorf("%.60q may stand in a command: %v", in, !want)
		}
	}
	if got := Quoted("web-0"); got != `"web-0"` {
		t.Errorf("a quoted name is %s", got)
	}
}

func TestOrdinaryTextCostsNothing(t *testing.T) {
	message := strings.Repeat("The folder of the group was moved to /DC0/vm/other. ", 40)
	if n := testing.AllocsPerRun(100, func() { Text(message, 4096) }); n != 0 {
		t.Errorf("ordinary text costs %v allocations", n)
	}
}

// FuzzText holds all that is shown to what the package promises.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"web-0", "a\x1b[31m\u202eb\n\tc", "\xff\xfe", `"a b"`, `"\"`, "\ufffd\ufffd\x00", strings.Repeat("ä\u200d", 100), "\u00a0 \u2028 \n", "…"} {
		f.Add(seed, 3)
		f.Add(seed, 17)
		f.Add(seed, 300)
	}
	f.Fuzz(holds)
}

// TestRandomText does so without a fuzzer, with text in which everything is common that is rare.
func TestRandomText(t *testing.T) {
	pieces := []string{"a", "ä", "日", " ", "\n", "\r", "\x1b", "\u009b", "\u202e", "\u200b", "\ufeff", "\ufe0f", "\u3164", "\u00a0", "\ufffd", "\xff", "\xe2\x80", `"`, `\`, "…", "\U000e0041", "\U0010ffff"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var b strings.Builder
		for range random.IntN(30) {
			b.WriteString(strings.Repeat(pieces[random.IntN(len(pieces))], 1+random.IntN(3)*random.IntN(30)))
		}
		holds(t, b.String(), random.IntN(400))
	}
}

func holds(t *testing.T, in string, limit int) {
	limit = 3 + (limit&0xfff+0xfff)%0xfff
	text := Text(in, limit)
	if len(text) > limit {
		t.Errorf("%q has %d bytes, more than %d", text, len(text), limit)
	}
	if again := Text(text, limit); again != text {
		t.Errorf("%q becomes %q, and that %q", in, text, again)
	}
	if len(in) <= limit && ordinary(in) && text != in {
		t.Errorf("ordinary text %q becomes %q", in, text)
	}
	name := Name(in)
	if len(name) > 322 {
		t.Errorf("the name %q has %d bytes", name, len(name))
	}
	if again := Name(name); again != name {
		t.Errorf("the name %q becomes %s, and that %s", in, name, again)
	}
	for _, shown := range []string{text, name, Quoted(in)} {
		if !utf8.ValidString(shown) {
			t.Errorf("%q is not valid UTF-8", shown)
		}
		for _, r := range shown {
			if unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector) {
				t.Errorf("%q becomes %q, which has %U", in, shown, r)
			}
		}
	}
}

// ordinary reports whether s has letters, digits, and ASCII that can be seen only.
func ordinary(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return (r < ' ' || r > '~') && (r == unicode.ReplacementChar || !unicode.In(r, unicode.Lu, unicode.Ll, unicode.Nd))
	}) < 0
}
