package logcheck

import "testing"

func TestLinesOfAContainerRuntimeAreJoined(t *testing.T) {
	const at = "2026-01-02T12:00:00.000000001Z stderr "
	for file, want := range map[string]string{
		"":                                    "",
		at + "F {\"a\": 1}\n" + at + "F {}\n": "{\"a\": 1}\n{}\n",
		at + "P {\"a\"\n" + at + "F : \"b c\"}\n": "{\"a\": \"b c\"}\n",
		at + "F \n" + at + "F {\"a":               "\n",
	} {
		if got, err := Container([]byte(file)); err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", file, got, err, want)
		}
	}
	for _, file := range []string{"{\"level\":\"info\"}\n", at + "X {}\n"} {
		if _, err := Container([]byte(file)); err == nil {
			t.Errorf("%q is taken for the file of a container runtime", file)
		}
	}
}
