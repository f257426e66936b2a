package term

import "testing"

func TestAMarkIsTheSameWithoutColor(t *testing.T) {
	for _, test := range []struct {
		style Style
		want  string
	}{
		{Style{}, "✔!✗·?"},
		{Style{ASCII: true}, "+!x-?"},
		{Style{Color: true}, "\x1b[32m✔\x1b[m\x1b[33m!\x1b[m\x1b[31m✗\x1b[m\x1b[90m·\x1b[m\x1b[35m?\x1b[m"},
	} {
		got := ""
		for _, m := range []Mark{OK, Warn, Bad, Note, Unknown} {
			got += test.style.Mark(m)
		}
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.style, got, test.want)
		}
	}
}
